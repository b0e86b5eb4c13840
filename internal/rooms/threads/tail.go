package threads

import (
	"context"

	"flashsale/redisx/pipeline"
)

// Event is what an Entry tells.
type Event string

// The events.
const (
	Stored Event = "message" // Entry.Message was stored
	Erased Event = "erased"  // the content of Entry.Message (its ID) is gone
	Pinned Event = "pinned"  // Entry.Message (its ID; 0 for none) is pinned
	Joined Event = "joined"  // Entry.User is a member now
	Left   Event = "left"    // Entry.User is no longer a member
	Muted  Event = "muted"   // Entry.User may not write until Entry.Until (Unix ms; 0: may write again)
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
	Message  Message // of Stored, Erased, Pinned
	User     uint32  // of Joined, Left, Muted, Ended; the author of a Stored
	Until    int64   // of Muted
}

// Positions are places in the logs of all parts.
type Positions [pipeline.Parts]int64

// Now returns the positions of the newest entries.
func (t *Threads) Now() (Positions, error) { panic("to come") }

// Tail calls do for each entry after the positions until ctx ends, and returns nil then. The entries of a
// thread come in order; do is called by one goroutine for each Redis, and must not wait for long. An entry is
// read within milliseconds, or as soon as Redis answers again.
func (t *Threads) Tail(ctx context.Context, from Positions, do func(Entry)) error { panic("to come") }
