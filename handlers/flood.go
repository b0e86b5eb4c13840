package handlers

import (
	"sync/atomic"
	"time"
)

// floodInterval is how often at most an event is logged that an attack may cause by the thousand.
const floodInterval = 10 * time.Second

var processStart = time.Now() // the clock may jump, the time since a start does not

// flood counts events of one kind and says when a line in the log is due. The zero value is ready; it is safe for
// concurrent use.
type flood struct {
	events atomic.Int64 // since the last line
	quiet  atomic.Int64 // ns since processStart until which nothing is logged
}

// due counts one event. At most once in floodInterval it returns how many came since it last did, this one included;
// otherwise 0.
func (f *flood) due(now time.Time) (events int64) {
	f.events.Add(1)
	quiet, at := f.quiet.Load(), int64(now.Sub(processStart))
	if at < quiet || !f.quiet.CompareAndSwap(quiet, at+int64(floodInterval)) {
		return 0
	}
	return f.events.Swap(0)
}
