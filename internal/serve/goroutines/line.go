package goroutines

import (
	"runtime"
	"time"
)

const (
	// Requests that a client may have sent without awaiting replies, before they queue up. One that awaits them
	// may be faster than a busy server's next look, now and then.
	straightMax = 4

	// After workMax such requests the line pauses. A worker that never waits sees only every 10 ms what
	// has come in on other connections, and leaves Redis no processor. Go's scheduler knows no shorter
	// pause.
	workMax   = 32
	linePause = time.Millisecond
)

// line has the connections that pipeline requests take turns: one request of one of them is served at a
// time, in the order in which they came. All other connections go first. Without it a hundred goroutines
// that always have something to do would keep the processor.
type line struct {
	turn   chan struct{} // goroutines wait for room in the order in which they came
	served int           // since the last pause
}

func newLine() *line { return &line{turn: make(chan struct{}, 1)} }

// enter waits until it is the caller's turn, and no other goroutine is ready.
func (l *line) enter() {
	l.turn <- struct{}{}
	if l.served++; l.served < workMax {
		runtime.Gosched()
		return
	}
	l.served = 0
	time.Sleep(linePause)
}

// leave ends the turn.
func (l *line) leave() { <-l.turn }

// queueUp waits for a turn where the connection pipelines. A connection that is lent has waited in the event
// loop.
func (c *Conn) queueUp() {
	if c.home == nil && c.straight > straightMax {
		c.server.line.enter()
		c.inLine = true
	}
}

// LeaveLine ends the turn of a request that has one: before it waits for something, and when it is answered.
func (c *Conn) LeaveLine() {
	if c.inLine {
		c.inLine = false
		c.server.line.leave()
	}
}
