package pipeline

import "time"

// What an event loop does about calls that are over their time.

// limit returns the time until which the flight, and what waits behind it, have nothing overdue.
func (e *loopEngine) limit() time.Time {
	if len(e.waiting) > 0 {
		if due := e.oldest.Add(e.conn.cfg.Timeout); due.Before(e.until) {
			return due
		}
	}
	return e.until
}

// endOverdue ends what is over its time. It looks for the replies first: where the process was paused, they
// may have come without an event so far.
func (e *loopEngine) endOverdue(now time.Time) {
	e.ready(true, false, false)
	switch {
	case !e.begun: // what waits is no longer behind the flight
	case now.Before(e.until):
		e.refuseExpired(now)
	default:
		e.drop(errNoReply)
	}
}

// refuseExpired refuses the calls that have waited for their whole time behind the flight. A flight of its
// own would give them that time once more.
func (e *loopEngine) refuseExpired(now time.Time) {
	kept, oldest := 0, now
	for n := 0; n < len(e.waiting); n++ { // a completion may send a call, which waits at the end
		x := e.waiting[n]
		if e.refused(x, now) {
			continue
		}
		if x.queued.Before(oldest) {
			oldest = x.queued
		}
		e.waiting[kept] = x
		kept++
	}
	clear(e.waiting[kept:])
	e.waiting, e.oldest = e.waiting[:kept], oldest
}

// refused completes a call that has waited for its whole time, and reports whether it has.
func (e *loopEngine) refused(x *Call, now time.Time) bool {
	if !expired(x.queued, now, e.conn.cfg.Timeout) {
		return false
	}
	e.conn.noteOverload()
	x.complete(ErrUnavailable)
	return true
}
