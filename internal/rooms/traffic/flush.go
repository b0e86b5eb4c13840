package traffic

import (
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"flashsale/redisx/pipeline"
)

const (
	// A chunk is one call of a script, and Redis carries out a pipeline of some kilobytes at a stretch. Both
	// are short, because orders may wait in the same Redis.
	chunkHits   = 50
	chunksSent  = 4       // in one pipeline
	waitingMax  = 1 << 18 // keys and minutes that wait for Redis; a hit of another one is dropped
	slotMinutes = 5       // of a slot of the most-hit keys
)

// What flush.lua returns.
const (
	chunkCounted       = 0
	chunkCountedBefore = 1
	chunkMissing       = 2
)

// flusher holds the hits that wait to be flushed. Only one goroutine uses it.
type flusher struct {
	process  string // a random id
	waiting  map[entry]int64
	chunks   []*chunk // cut off from waiting and not known to be counted, in their order
	last     int64    // number of the last chunk that was cut off
	answered int64    // number of the last chunk that is known to be counted

	over <-chan struct{} // closed when Run must end, whatever still waits; nil for never
}

// chunk is hits under a number. It is sent as it is until it is answered.
type chunk struct {
	number int64
	hits   []keyHits
}

type keyHits struct {
	entry
	n int64
}

// collect takes the hits since the last time that it was called. begun is that time.
func (t *Traffic) collect(begun time.Time) {
	minute := begun.Unix() / 60
	for _, c := range t.counters {
		for i := range c.hits {
			if n := c.hits[i].Swap(0); n > 0 {
				t.await(entry{c.keys[i], minute}, n)
			}
		}
	}
	for i := range t.shards {
		for e, n := range t.shards[i].take() {
			t.await(e, n)
		}
	}
}

// await keeps hits for the next flush.
func (t *Traffic) await(e entry, n int64) {
	if !sumUp(t.flusher.waiting, e, n, waitingMax) {
		t.drop(n)
	}
}

// drop counts hits that are dropped.
func (t *Traffic) drop(n int64) {
	t.cfg.Dropped.Add(uint64(n))
	if t.droppedLines.Due(time.Now()) > 0 {
		slog.Warn("hits are dropped from the statistics: too many wait for Redis", "dropped",
			t.cfg.Dropped.Value())
	}
}

// dropRest drops what still waits at the end. Redis may have counted the last of it and not answered.
func (t *Traffic) dropRest() {
	var hits int64
	f := &t.flusher
	for _, n := range f.waiting {
		hits += n
	}
	for _, c := range f.chunks {
		for _, h := range c.hits {
			hits += h.n
		}
	}
	if hits > 0 {
		t.cfg.Dropped.Add(uint64(hits))
		slog.Warn("hits are dropped from the statistics: Redis has not counted them in the time for the stop",
			"dropped", hits)
	}
}

// flush sends the hits that wait and reports whether all are counted. The others wait for the next time. New
// chunks are cut off only when all before them are counted: meanwhile hits of the same key are summed up.
func (t *Traffic) flush() bool {
	f := &t.flusher
	whole := t.sendChunks()
	if whole && len(f.waiting) > 0 {
		f.cut()
		whole = t.sendChunks()
	}
	return t.flushSold() && whole
}

// cut makes chunks of the hits that wait.
func (f *flusher) cut() {
	var c *chunk
	for e, n := range f.waiting {
		if c == nil || len(c.hits) == chunkHits {
			f.last++
			c = &chunk{number: f.last}
			f.chunks = append(f.chunks, c)
		}
		c.hits = append(c.hits, keyHits{e, n})
	}
	clear(f.waiting)
}

// sendChunks sends the chunks in their order and reports whether all are counted.
func (t *Traffic) sendChunks() bool {
	f := &t.flusher
	for len(f.chunks) > 0 {
		counted := t.sendSome(f.chunks[:min(len(f.chunks), chunksSent)])
		if counted == 0 {
			return false
		}
		f.answered = f.chunks[counted-1].number
		f.chunks = f.chunks[counted:]
	}
	return true
}

// sent is a call on its way.
type sent struct {
	err  error
	done chan<- struct{}
}

func (s *sent) Complete(x *pipeline.Call) {
	_, s.err = x.Result()
	x.Free()
	s.done <- struct{}{}
}

// send sends calls in one pipeline and returns how many of them, from the first one on, were answered. It
// does not wait for the replies once the flusher is over.
func (t *Traffic) send(calls ...*pipeline.Call) (answered int) {
	done := make(chan struct{}, len(calls))
	sending := make([]sent, 0, len(calls))
	for i, x := range calls {
		sending = append(sending, sent{done: done})
		if !t.redis.Send(x, &sending[i]) {
			sending = sending[:i]
			for _, x := range calls[i:] {
				x.Free()
			}
			break
		}
	}
	for range sending {
		select {
		case <-done:
		case <-t.flusher.over:
			return 0
		}
	}
	for answered < len(sending) && sending[answered].err == nil {
		answered++
	}
	return answered
}

// sendSome sends chunks in one pipeline and returns how many of them, from the first one on, are counted.
func (t *Traffic) sendSome(chunks []*chunk) (counted int) {
	replies := make([]int64, len(chunks))
	calls := make([]*pipeline.Call, len(chunks))
	keys := []string{stateKey, namesKey, processPrefix + t.flusher.process}
	for i, c := range chunks {
		calls[i] = flushScript.Call(&replies[i], keys, t.chunkArgs(c)...)
	}
	for _, reply := range replies[:t.send(calls...)] {
		if reply != chunkCounted && reply != chunkCountedBefore {
			if reply != chunkMissing {
				slog.Error("statistics are not flushed", "error",
					fmt.Errorf("flush.lua returned the unknown code %d", reply))
			}
			break
		}
		counted++
	}
	return counted
}

// chunkArgs are the ARGV of flush.lua.
func (t *Traffic) chunkArgs(c *chunk) []string {
	var minutes []int64
	places := map[int64]string{} // in minutes, from 1
	for _, h := range c.hits {
		if places[h.minute] == "" {
			minutes = append(minutes, h.minute)
			places[h.minute] = strconv.Itoa(len(minutes))
		}
	}
	args := t.hitsArgs(minutes)
	args = append(args, itoa(c.number), itoa(t.flusher.answered))
	for _, h := range c.hits {
		args = append(args, h.key, places[h.minute], itoa(h.n))
	}
	return args
}

// hitsArgs are the ARGV of hits.lua.
func (t *Traffic) hitsArgs(minutes []int64) []string {
	args := []string{strconv.Itoa(t.cfg.KeysMax), strconv.Itoa(len(t.layout.tiers))}
	for _, tier := range t.layout.tiers {
		args = append(args, strconv.Itoa(int(tier.Step)))
	}
	args = append(args, strconv.Itoa(len(minutes)))
	for _, minute := range minutes {
		at := time.Unix(minute*60, 0)
		for _, tier := range t.layout.tiers {
			args = append(args, itoa(t.layout.grids[tier.Step].number(at)))
		}
		args = append(args, itoa(minute/slotMinutes))
	}
	return args
}
