package handlers

import (
	"runtime"
	"time"
)

const (
	// Requests that a client may have sent without awaiting replies, before they queue up. One that awaits them
	// may be faster than a busy server's next look, now and then.
	straightMax = 4

	// After workMax such requests the line rests. A worker that never waits sees only every 10 ms what has come
	// in on other connections, and leaves Redis no processor. Go's scheduler knows no shorter rest.
	workMax = 32
	rest    = time.Millisecond
)

// line has the connections that pipeline requests take turns, on goroutines: one request of one of them is
// served at a time, in the order in which they came. All other connections go first. Without it a hundred
// goroutines that always have something to do would keep the processor.
type line struct {
	turn   chan struct{} // goroutines wait for room in the order in which they came
	served int           // since the last rest
}

func newLine() *line { return &line{turn: make(chan struct{}, 1)} }

// pipelines reports whether the request must queue up. The event loop has a queue of its own.
func (c *framedConn) pipelines() bool { return c.home == nil && c.straight > straightMax }

// enterLine waits until it is the request's turn, and no other goroutine is ready.
func (a *answer) enterLine() {
	l := a.server.line
	l.turn <- struct{}{}
	a.inLine = true
	if l.served++; l.served < workMax {
		runtime.Gosched()
		return
	}
	l.served = 0
	time.Sleep(rest)
}

// leaveLine ends the turn of a request that has one.
func (a *answer) leaveLine() {
	if a.inLine {
		a.inLine = false
		<-a.server.line.turn
	}
}
