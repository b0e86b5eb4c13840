package goroutines

import (
	"runtime"
	"time"
)

const (
	// Requests that a client may send without awaiting replies before they queue up. A client that does await
	// replies may now and then be faster than a busy server's next poll.
	straightMax = 4

	// After workMax such requests the line pauses. A worker that never waits polls its other connections only
	// every 10 ms, and leaves Redis no processor. Go's scheduler knows no shorter pause.
	workMax   = 32
	linePause = time.Millisecond
)

// line makes the connections that pipeline requests take turns: it serves one request of one of them at a
// time, in the order of arrival. All other connections go first. Without it a hundred goroutines that always
// have work would keep the processor.
type line struct {
	turn   chan struct{} // goroutines wait for room in the order of arrival
	served int           // requests since the last pause
}

func newLine() *line { return &line{turn: make(chan struct{}, 1)} }

// enter waits for the caller's turn, and until no other goroutine is ready.
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

// queueUp waits for a turn if the connection pipelines. A lent connection has waited in the event loop.
func (c *Conn) queueUp() {
	if c.home == nil && c.straight > straightMax {
		c.server.line.enter()
		c.inLine = true
	}
}

// LeaveLine ends the request's turn, if it has one: before it waits for something, and after the reply.
func (c *Conn) LeaveLine() {
	if c.inLine {
		c.inLine = false
		c.server.line.leave()
	}
}
