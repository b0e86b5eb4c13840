// Package logpace keeps an event that may happen by the thousand from filling the log: it counts the events
// of one kind and lets one line through in ten seconds.
package logpace

import (
	"sync/atomic"
	"time"
)

// Interval is the shortest time between two lines of one kind.
const Interval = 10 * time.Second

var processStart = time.Now() // the clock may jump, the time since a start does not

// Pace counts the events of one kind. The zero value is ready; it is safe for concurrent use.
type Pace struct {
	events atomic.Int64 // since the last line
	quiet  atomic.Int64 // ns since processStart until which nothing is logged
}

// Due counts one event. Once in an Interval it returns the number of events since it last did, this one
// included: then a line is due. Otherwise it returns 0.
func (p *Pace) Due(now time.Time) (events int64) {
	p.events.Add(1)
	quiet, at := p.quiet.Load(), int64(now.Sub(processStart))
	if at < quiet || !p.quiet.CompareAndSwap(quiet, at+int64(Interval)) {
		return 0
	}
	return p.events.Swap(0)
}
