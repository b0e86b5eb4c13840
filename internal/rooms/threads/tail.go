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
	tailPause   = time.Millisecond       // between two reads in a row: several entries come together
	tailRedial  = 100 * time.Millisecond // after a fault
)

// Tail calls do for each entry after the positions until ctx ends, and returns nil then. The entries of a
// part come in order; do is called by one goroutine for each Redis, and must not wait for long. An entry is
// read within milliseconds, or as soon as Redis answers again.
func (t *Threads) Tail(ctx context.Context, from Positions, do func(Entry)) error {
	var all sync.WaitGroup
	for i, address := range t.cfg.Redis {
		f := &follower{reader{address: address}, partsOf(i, len(t.cfg.Redis)), &from, do}
		all.Go(func() { f.run(ctx) })
	}
	all.Wait()
	return nil
}

// partsOf are the parts at one of some Redis.
func partsOf(i, count int) (parts []int) {
	for part := i; part < pipeline.Parts; part += count {
		parts = append(parts, part)
	}
	return parts
}

// follower reads the logs of the parts of one Redis.
type follower struct {
	logs  reader
	parts []int
	from  *Positions // it uses those of its parts only
	do    func(Entry)
}

func (f *follower) run(ctx context.Context) {
	defer f.logs.close()
	failing := false
	for last := (time.Time{}); ctx.Err() == nil; {
		found, err := f.logs.read(ctx, f.parts, f.from, tailEntries, tailBlock)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			if !failing {
				slog.Warn("the log of the conversations cannot be read: pushes wait", "error", err)
			}
			failing = true
			background.Pause(ctx, tailRedial)
			continue
		case failing:
			failing = false
			slog.Info("the log of the conversations is read again")
		}
		for _, entries := range found {
			f.take(entries)
		}
		if now := time.Now(); now.Sub(last) > 2*tailPause {
			last = now // it came alone: a pause would cost one more wake-up
		} else if background.Pause(ctx, tailPause) {
			last = time.Now()
		}
	}
}

// take hands the new entries of a part on.
func (f *follower) take(entries []Entry) {
	for _, e := range entries {
		if f.from[e.Part] != 0 && e.Position != f.from[e.Part]+1 {
			f.do(Entry{Part: e.Part, Position: e.Position - 1, Event: Missed})
		}
		f.from[e.Part] = e.Position
		f.do(e)
	}
}

// reader reads logs of one Redis, on a connection of its own: a read may wait.
type reader struct {
	address pipeline.Config
	link    *pipeline.Link // nil: the next read dials
}

// read returns the entries of some parts after the positions, by part: at most so many of each. It waits for
// the first one, but not longer than wait.
func (r *reader) read(
	ctx context.Context, parts []int, from *Positions, most int, wait time.Duration,
) (found [][]Entry, err error) {
	if r.link == nil {
		if r.link, err = pipeline.Dial(ctx, r.address); err != nil {
			return nil, err
		}
	}
	words := []string{"XREAD", "COUNT", strconv.Itoa(most)}
	if ms := wait.Milliseconds(); ms > 0 {
		words = append(words, "BLOCK", strconv.FormatInt(ms, 10))
	}
	words = append(words, "STREAMS")
	of := map[string]int{}
	for _, part := range parts {
		of[partKey(part, "log")] = part
		words = append(words, partKey(part, "log"))
	}
	for _, part := range parts {
		words = append(words, strconv.FormatInt(from[part], 10)+"-0")
	}
	var streams []radix.StreamEntries
	if err := r.link.Do(pipeline.Command(&streams, words...), wait+r.address.Timeout); err != nil {
		r.close()
		return nil, err
	}
	for _, stream := range streams {
		var entries []Entry
		for _, entry := range stream.Entries {
			entries = append(entries, entryOf(of[stream.Stream], entry))
		}
		found = append(found, entries)
	}
	return found, nil
}

func (r *reader) close() {
	if r.link != nil {
		r.link.Close()
		r.link = nil
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
