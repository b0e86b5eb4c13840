package pipeline

import (
	"slices"
	"time"
)

// What an event loop does with calls that must be sent again.

// hold keeps calls that must be sent again, and has them asked aside or leaves the connection.
func (e *loopEngine) hold(held []*Call, to redirect) {
	if e.fd < 0 { // a completion or the next flight met the end of the connection
		for _, x := range held {
			x.complete(ErrUnavailable)
		}
		return
	}
	if to.route == aside && !e.asking {
		e.asking = true
		e.asks <- held
		return
	}
	e.putFirst(held)
	if to.route == away {
		e.takeBack()
		e.disconnect()
		e.lost <- relocation{to.address}
		return
	}
	e.resume = e.loop.Now().Add(e.conn.nextPause())
}

// asked goes on with the calls that were asked aside.
func (e *loopEngine) asked(calls []*Call) {
	e.asking = false
	held := e.conn.settle(calls)
	if len(held) == 0 {
		return
	}
	e.putFirst(held)
	if !e.conn.up.Load() {
		e.refuseWaiting()
		return
	}
	e.resume = e.loop.Now().Add(e.conn.nextPause())
}

// takeBack lets the calls wait that are to be asked aside, unless Run has begun with them.
func (e *loopEngine) takeBack() {
	select {
	case calls := <-e.asks:
		e.asking = false
		e.putFirst(calls)
	default:
	}
}

// putFirst lets calls wait before all others.
func (e *loopEngine) putFirst(calls []*Call) {
	for _, x := range calls {
		if len(e.waiting) == 0 || x.queued.Before(e.oldest) {
			e.oldest = x.queued
		}
	}
	e.waiting = slices.Concat(calls, e.waiting)
}

// stalled reports whether no call may be sent now.
func (e *loopEngine) stalled(now time.Time) bool { return e.fd < 0 || e.asking || now.Before(e.resume) }

// stallLimit returns the time at which calls may be sent, or the earliest one at which a call is overdue.
func (e *loopEngine) stallLimit(now time.Time) time.Time {
	overdue := e.oldest.Add(e.conn.cfg.Timeout)
	if now.Before(e.resume) && e.resume.Before(overdue) {
		return e.resume
	}
	return overdue
}

// end refuses the calls that wait when Run ends, after a relocation.
func (e *loopEngine) end() {
	if !e.conn.cfg.moves() {
		return // drop has refused them
	}
	done := make(chan struct{})
	if e.loop.Post(func() { e.takeBack(); e.refuseWaiting(); close(done) }) {
		<-done
	}
}
