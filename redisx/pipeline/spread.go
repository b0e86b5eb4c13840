package pipeline

import (
	"context"
	"hash/crc32"
	"strconv"
	"sync"
)

// Parts is the number of parts of a room that is larger than one hash tag: its keys lie in that many hash
// slots of a cluster, at equal distances, so that all masters carry it. Parts of one user or one thread are
// for life: the number never changes.
const Parts = 16

const clusterSlots = 16384

// partTags are the hash tags of the parts: for each part the first number with a slot near the middle of its
// range.
var partTags = func() (tags [Parts]string) {
	const width = clusterSlots / Parts
	for part := range tags {
		for n := 0; tags[part] == ""; n++ {
			text := strconv.Itoa(n)
			if distance := Slot(text) - part*width - width/2; -width/8 < distance && distance < width/8 {
				tags[part] = "{" + text + "}"
			}
		}
	}
	return tags
}()

// PartTag is the hash tag of all keys of a part.
func PartTag(part int) string { return partTags[part] }

// PartOf is the part of a name, which may be that of a user or a thread.
func PartOf(name string) int { return int(crc32.ChecksumIEEE([]byte(name)) % Parts) }

// Spread is one connection of a room to each Redis that has parts of it. Its methods are safe for concurrent
// use.
type Spread struct{ conns []*Conn }

// NewSpread makes a Spread of the addresses in turn: part p is at address p modulo their number. In a
// cluster there is one for each part. Run must run.
func NewSpread(addresses []Config, opts Options) *Spread {
	s := &Spread{}
	for _, address := range addresses {
		s.conns = append(s.conns, New(address, opts))
	}
	return s
}

// Part returns the connection to a part.
func (s *Spread) Part(part int) *Conn { return s.conns[part%len(s.conns)] }

// Conns returns all connections: part p has number p modulo their number.
func (s *Spread) Conns() []*Conn { return s.conns }

// Run keeps the connections until ctx ends, and returns nil then.
func (s *Spread) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, conn := range s.conns {
		all.Go(func() { _ = conn.Run(ctx) }) // it returns nil
	}
	all.Wait()
	return nil
}

// Calls are commands to several parts that go out together: one call for each connection. They belong to one
// goroutine.
type Calls struct {
	spread *Spread
	each   map[*Conn]*Call
}

// Calls makes Calls without a command.
func (s *Spread) Calls() *Calls { return &Calls{s, map[*Conn]*Call{}} }

// Of is the call to which commands for a part are added.
func (c *Calls) Of(part int) *Call {
	conn := c.spread.Part(part)
	if c.each[conn] == nil {
		c.each[conn] = NewCall()
	}
	return c.each[conn]
}

// Do sends all calls before it waits for an answer, and frees them. It returns an error if one has failed.
func (c *Calls) Do() error {
	var failed error
	var first sync.Once
	var all sync.WaitGroup
	for conn, x := range c.each {
		one := func() {
			if err := conn.Do(x); err != nil {
				first.Do(func() { failed = err })
			}
		}
		if len(c.each) == 1 {
			one()
		} else {
			all.Go(one)
		}
	}
	all.Wait()
	return failed
}
