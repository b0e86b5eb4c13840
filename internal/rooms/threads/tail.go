package threads

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/internal/background"
	"flashsale/redisx/pipeline"
)

// Event is what an Entry tells.
type Event string

// The events. The words are those of the scripts.
const (
	Stored Event = "message" // Entry.Message was stored
	Erased Event = "erased"  // the content of Entry.Message (its ID) is gone
	Pinned Event = "pinned"  // Entry.Message (its ID; 0 for none) is pinned
	Joined Event = "joined"  // Entry.User is a member now
	Left   Event = "left"    // Entry.User is no longer a member
	Muted  Event = "muted"   // Entry.User may not write in the room until Entry.Until; zero: may write again
	Grown  Event = "grown"   // the group is large from now on
	Ended  Event = "ended"   // the group is gone; Entry.User had started it
	// Missed is made by Tail: entries of Entry.Part are lost to this follower, who was too far behind.
	Missed Event = "missed"
)

// Entry is an entry of the log of a part.
type Entry struct {
	Part     int
	Position int64 // in the log of the part; it grows, also after a loss of Redis
	Event    Event
	Thread   string
	Large    bool    // see Thread.Large
	Message  Message // of Stored; of Erased and Pinned only ID and Thread
	User     uint32  // of Joined, Left, Muted, Ended; the author of a Stored
	Until    time.Time
}

// Positions are places in the logs of all parts.
type Positions [pipeline.Parts]int64

// Newest returns the positions of the newest entries.
func (t *Threads) Newest() (p Positions, err error) {
	var texts [pipeline.Parts]string
	calls := t.redis.Calls()
	for part := range p {
		calls.Of(part).Command(&texts[part], "HGET", partKey(part, "state"), "log")
	}
	if err := calls.Do(); err != nil {
		return p, err
	}
	for part, text := range texts {
		p[part] = number(text)
	}
	return p, nil
}

const (
	tailEntries = 500                    // of a part, in one reply
	tailBlock   = time.Second            // a read waits so long for an entry
	tailPause   = time.Millisecond       // between two reads: several entries come together
	tailRedial  = 100 * time.Millisecond // after a fault
)

// Tail calls do for each entry after the positions until ctx ends, and returns nil then. The entries of a
// part come in order; do is called by one goroutine for each Redis, and must not wait for long. An entry is
// read within milliseconds, or as soon as Redis answers again.
func (t *Threads) Tail(ctx context.Context, from Positions, do func(Entry)) error {
	var all sync.WaitGroup
	addresses := t.cfg.Redis
	for i, address := range addresses {
		f := &follower{address: address, from: &from, do: do}
		for part := i; part < pipeline.Parts; part += len(addresses) {
			f.parts = append(f.parts, part)
		}
		all.Go(func() { f.run(ctx) })
	}
	all.Wait()
	return nil
}

// follower reads the logs of the parts of one Redis.
type follower struct {
	address pipeline.Config
	parts   []int
	from    *Positions // it uses those of its parts only
	do      func(Entry)
}

func (f *follower) run(ctx context.Context) {
	failing := false
	for ctx.Err() == nil {
		err := f.follow(ctx, &failing)
		if ctx.Err() == nil && !failing {
			failing = true
			slog.Warn("the log of the conversations cannot be read: pushes wait", "error", err)
		}
		background.Pause(ctx, tailRedial)
	}
}

// follow reads until an error.
func (f *follower) follow(ctx context.Context, failing *bool) error {
	link, err := pipeline.Dial(ctx, f.address)
	if err != nil {
		return err
	}
	defer link.Close()
	for {
		var streams []radix.StreamEntries
		if err := link.Do(pipeline.Command(&streams, f.command()...), tailBlock+f.address.Timeout); err != nil {
			return err
		}
		if *failing {
			*failing = false
			slog.Info("the log of the conversations is read again")
		}
		for _, stream := range streams {
			f.take(stream)
		}
		if len(streams) > 0 && !background.Pause(ctx, tailPause) {
			return ctx.Err()
		}
	}
}

func (f *follower) command() []string {
	words := []string{"XREAD", "COUNT", strconv.Itoa(tailEntries), "BLOCK",
		strconv.FormatInt(tailBlock.Milliseconds(), 10), "STREAMS"}
	for _, part := range f.parts {
		words = append(words, partKey(part, "log"))
	}
	for _, part := range f.parts {
		words = append(words, strconv.FormatInt(f.from[part], 10)+"-0")
	}
	return words
}

// take hands the new entries of a part on.
func (f *follower) take(stream radix.StreamEntries) {
	for _, part := range f.parts {
		if partKey(part, "log") != stream.Stream {
			continue
		}
		for _, found := range stream.Entries {
			entry := entryOf(part, found)
			if f.from[part] != 0 && entry.Position != f.from[part]+1 {
				f.do(Entry{Part: part, Position: entry.Position - 1, Event: Missed})
			}
			f.from[part] = entry.Position
			f.do(entry)
		}
	}
}

// entryOf reads an entry of a log, see log.lua.
func entryOf(part int, found radix.StreamEntry) Entry {
	e := Entry{Part: part, Position: int64(found.ID.Time)}
	var head, content string
	for _, field := range found.Fields {
		switch field[0] {
		case "t":
			e.Thread = field[1]
		case "h":
			head = field[1]
		case "c":
			content = field[1]
		}
	}
	h := append(strings.Split(head, ":"), make([]string, 6)...)
	e.Event, e.Large = Event(h[0]), h[1] != ""
	e.User, _ = userOf(h[3])
	e.Message = Message{ID: number(h[2]), Thread: e.Thread}
	switch e.Event {
	case Stored:
		e.Message.User, e.Message.Content, e.Message.Created = e.User, content, milli(h[4])
	case Muted:
		if h[5] != "0" {
			e.Until = milli(h[5])
		}
	}
	return e
}
