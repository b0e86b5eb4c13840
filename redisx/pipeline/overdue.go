package pipeline

import "time"

// What an event loop does about overdue calls.

// limit returns the earliest time at which the flight or a waiting call may be overdue.
func (e *loopEngine) limit() time.Time {
	if len(e.waiting) > 0 {
		if due := e.oldest.Add(e.conn.cfg.Timeout); due.Before(e.until) {
			return due
		}
	}
	return e.until
}

// endOverdue ends overdue calls. It reads replies first: after a pause of the process they may have come
// without an event.
func (e *loopEngine) endOverdue(now time.Time) {
	e.ready(true, false, false)
	switch {
	case !e.begun: // the waiting calls are no longer behind the flight
	case now.Before(e.until):
		e.refuseExpired(now)
	default:
		e.drop(errNoReply)
	}
}

// refuseExpired refuses the calls that have waited for their whole timeout behind the flight. A flight of
// their own would give them that time again.
func (e *loopEngine) refuseExpired(now time.Time) {
	kept, oldest := 0, now
	for n := 0; n < len(e.waiting); n++ { // a completion may send a call, which waits at the end
		x := e.waiting[n]
		if e.conn.refused(x, now) {
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
