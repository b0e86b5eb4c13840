package live

import (
	"fmt"
	"net/netip"
	"runtime"
	"time"
)

const (
	// Milliseconds until a viewer comes back, a random number of these: not all at once.
	retryMin  = 1000
	retryMost = 5000 // after a connection that has broken off

	endsPerSecond = 1000 // viewers of a worker that come back in a second after its end
)

// Viewer is a connection that is to get events, with its request.
type Viewer struct {
	Stream Stream
	From   netip.Addr  // as it was given to Reserve
	Head   []byte      // of the reply
	Root   bool        // gets the events top and refused too
	Until  int64       // Unix second at which it ends, 0 for no end
	Ended  func() bool // whether it ends now, asked once a second; nil: it does not
	LastID int64       // of the last event that the client has got before, 0 without one
}

// viewer is a Viewer that gets events.
type viewer struct {
	Stream
	from   netip.Addr
	root   bool
	until  int64
	ended  func() bool // nil where that is not asked
	number int         // of its socket, as the watcher knows it
	index  int         // among the viewers
	got    int64       // number of the last batch
	rest   []byte      // of its first message
	since  int64       // the second of that
}

// admit sends a viewer its first message: the state of the sale, and the events before.
func (h *Hub) admit(joins *Viewer) {
	v := &viewer{Stream: joins.Stream, from: joins.From, root: joins.Root, until: joins.Until,
		ended: joins.Ended, since: h.second, index: len(h.viewers), number: unwatched}
	if v.root {
		h.roots++
	}
	h.viewers = append(h.viewers, v)
	if len(h.viewers) == 1 {
		h.resume()
	}
	if v.root && h.roots == 1 {
		h.tops.forget(h.second)
		h.askTop()
	}
	v.got = h.latest
	intro := fmt.Appendf(joins.Head, "retry: %d\n\n", retryMin+h.random(retryMost-retryMin))
	intro = append(intro, h.past(joins.LastID)...)
	intro = appendEvent(intro, "sale", h.id(), h.cfg.Sale())
	if v.root {
		intro = appendEvent(intro, "top", h.id(), h.top())
		intro = appendEvent(intro, "refused", h.id(), h.board.others)
	}
	state := h.wholeStock()
	v.Stream.Size(len(intro) + len(state))
	if sent, open := v.Stream.Send(intro); !open || sent < len(intro) || h.watcher.add(v) != nil {
		h.remove(v)
		return
	}
	v.rest = state
	h.sendRest(v)
}

// resume begins to show the sale again, after a time without viewers.
func (h *Hub) resume() {
	h.shown = shown{}
	_ = h.board.read() // the history has all that is on it
	h.shown.others = h.board.others
	body, sale := h.sale()
	h.appendSale(nil, body, &sale) // the first message has it
	h.urgent = 0
	h.looks.forget(h.second)
	h.look()
}

// sendRest sends more of the first message. It reports false where the viewer is gone.
func (h *Hub) sendRest(v *viewer) bool {
	sent, open := v.Stream.Send(v.rest)
	if v.rest = v.rest[sent:]; len(v.rest) == 0 {
		v.rest = nil
	}
	switch late := time.Duration(h.second-v.since) * time.Second; {
	case !open:
		h.remove(v)
	case v.rest != nil && late > helloTime:
		h.drop(v)
	default:
		return true
	}
	return false
}

// serveSome sends some viewers their new events. In a second each viewer gets at most one message.
func (h *Hub) serveSome() {
	writes := (len(h.viewers) + turnsPerSecond - 1) / turnsPerSecond
	if h.urgent > 0 {
		writes = min(writes, urgency*h.writesMax)
	} else {
		writes = min(writes, h.writesMax)
	}
	h.urgent = max(h.urgent-writes, 0)
	for i := range writes {
		if len(h.viewers) == 0 {
			return
		}
		h.next %= len(h.viewers)
		if h.serve(h.viewers[h.next]) {
			h.next++ // else another one stands here now
		}
		yield(i)
	}
}

// serve sends a viewer the events since its last message. It reports false if the viewer is gone.
func (h *Hub) serve(v *viewer) bool {
	if v.until != 0 && h.second >= v.until || v.ended != nil && v.ended() {
		h.dismiss(v, retryMin)
		return false
	}
	if v.rest != nil {
		if !h.sendRest(v) {
			return false
		}
		if v.rest != nil {
			return true
		}
	}
	if v.got == h.latest {
		return true
	}
	if h.latest-v.got > batchesMax {
		h.drop(v)
		return false
	}
	text := h.gather(v.got, v.root)
	v.got = h.latest
	switch sent, open := v.Stream.Send(text); {
	case !open:
		h.remove(v)
	case sent < len(text):
		h.drop(v)
	default:
		return true
	}
	return false
}

// drop ends a viewer that is too slow.
func (h *Hub) drop(v *viewer) {
	h.cfg.Own.ViewersDropped.Inc()
	v.Stream.Abort()
	h.forget(v)
}

// remove ends a viewer.
func (h *Hub) remove(v *viewer) {
	v.Stream.Close()
	h.forget(v)
}

// forget takes a viewer from the list. The last one takes its place there.
func (h *Hub) forget(v *viewer) {
	h.watcher.forget(v)
	last := len(h.viewers) - 1
	h.viewers[v.index] = h.viewers[last]
	h.viewers[v.index].index = v.index
	h.viewers[last] = nil
	h.viewers = h.viewers[:last]
	if v.root {
		h.roots--
	}
	h.Release(v.from)
}

// endAll ends all viewers. They are told to come back at different times.
func (h *Hub) endAll() {
	span := max(len(h.viewers)*1000/endsPerSecond, retryMin)
	for i := 0; len(h.viewers) > 0; i++ {
		h.dismiss(h.viewers[len(h.viewers)-1], span)
		yield(i)
	}
}

// dismiss ends a viewer with a hint to come back within some milliseconds from retryMin on.
func (h *Hub) dismiss(v *viewer, span int) {
	if v.rest == nil { // a hint within another message would not be one
		_, _ = v.Stream.Send(fmt.Appendf(nil, "retry: %d\n\n", retryMin+h.random(span)))
	}
	h.remove(v)
}

// yield lets other goroutines have the processor after some writes: with one processor, orders wait for it.
func yield(writes int) {
	if writes%yieldAfter == yieldAfter-1 {
		runtime.Gosched()
	}
}
