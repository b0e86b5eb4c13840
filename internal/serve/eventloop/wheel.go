package eventloop

import (
	"time"

	"flashsale/internal/serve/listener"
)

// wheelSlots is more ticks than any limit of time has.
const wheelSlots = 128

// wheel finds the connections that are over their time. Each stands in the slot of a tick that is not after
// its deadline. A deadline that moves on costs nothing but its own store: when the slot's turn comes, the
// connection moves to the slot of its deadline. So a connection that is in use is touched once in its idle
// time and not with each request.
type wheel struct {
	slots [wheelSlots]*conn // lists, linked by conn.next and conn.previous
	begin time.Time
	tick  int64 // since the begin
}

// turn moves the wheel on by a tick if one is over by now, and calls overdue for each connection that is
// over its time; that must remove it. Further ticks that are over do not count: the process has paused, and
// its clients must not pay for it.
func (w *wheel) turn(now time.Time, overdue func(*conn)) {
	due := int64(now.Sub(w.begin) / listener.TickInterval)
	if due <= w.tick {
		return
	}
	w.tick++
	w.begin = w.begin.Add(time.Duration(due-w.tick) * listener.TickInterval)
	for c := w.slots[w.tick%wheelSlots]; c != nil; {
		next := c.next
		if c.deadline == 0 || c.deadline > w.tick {
			w.remove(c)
			w.add(c)
		} else {
			overdue(c)
		}
		c = next
	}
}

// next is the time of the next tick.
func (w *wheel) next() time.Time { return w.begin.Add(time.Duration(w.tick+1) * listener.TickInterval) }

// after returns the tick at which a limit that begins now is over; 0 for no limit.
func (w *wheel) after(limit time.Duration) int64 {
	if limit == 0 {
		return 0
	}
	// One more: the tick under way is not a whole one.
	return w.tick + int64(limit/listener.TickInterval) + 1
}

// add puts a connection where its deadline is noticed in time; without one, it is looked at again much
// later.
func (w *wheel) add(c *conn) {
	c.slot = c.deadline
	if c.slot == 0 {
		c.slot = w.tick + wheelSlots - 1
	}
	head := &w.slots[c.slot%wheelSlots]
	c.previous, c.next = nil, *head
	if c.next != nil {
		c.next.previous = c
	}
	*head = c
}

func (w *wheel) remove(c *conn) {
	if c.previous != nil {
		c.previous.next = c.next
	} else {
		w.slots[c.slot%wheelSlots] = c.next
	}
	if c.next != nil {
		c.next.previous = c.previous
	}
	c.previous, c.next = nil, nil
}

// limit gives a connection its time from now on.
func (w *wheel) limit(c *conn, limit time.Duration) {
	c.deadline = w.after(limit)
	if c.deadline != 0 && c.deadline < c.slot {
		w.remove(c)
		w.add(c)
	}
}
