package live

import (
	"sync"
	"sync/atomic"
)

// asked is a question that is asked in the background, once at a time and once in a second. The zero value
// is ready.
type asked[T any] struct {
	second  int64 // in which it was asked last
	running sync.WaitGroup
	busy    atomic.Bool
	last    atomic.Pointer[T]
}

// start asks, unless that was done in this second, or the answer is still due.
func (a *asked[T]) start(second int64, ask func() T) {
	if a.second == second || !a.busy.CompareAndSwap(false, true) {
		return
	}
	a.second = second
	a.running.Go(func() {
		defer a.busy.Store(false)
		answer := ask()
		a.last.Store(&answer)
	})
}

// answer is the last one, nil before the first. It is the zero value when a question has waited for a whole
// second: a question from the end of a second is due in the next second.
func (a *asked[T]) answer(second int64) *T {
	if a.busy.Load() && second-a.second > 1 {
		return new(T)
	}
	return a.last.Load()
}

// forget drops the answer to a question of an earlier second.
func (a *asked[T]) forget(second int64) {
	if a.second != second {
		a.last.Store(nil)
	}
}

// wait waits for the answer that is due.
func (a *asked[T]) wait() { a.running.Wait() }

// look asks for the state of Redis.
func (h *Hub) look() { h.looks.start(h.second, h.cfg.Look) }

// askTop asks for the most-hit keys while root is among the viewers.
func (h *Hub) askTop() {
	if h.roots > 0 && h.cfg.Top != nil {
		h.tops.start(h.second, h.cfg.Top)
	}
}

// top is the data of the event with the most-hit keys, nil where they are not known.
func (h *Hub) top() []byte {
	keys := h.tops.last.Load()
	if keys == nil || *keys == nil {
		return nil
	}
	return append(append([]byte(`{"keys":`), *keys...), '}')
}

// newTop is the event for viewers who have joined, nil if they have it.
func (h *Hub) newTop() []byte {
	keys := h.tops.last.Load()
	if h.roots == 0 || keys == h.shown.top {
		return nil
	}
	h.shown.top = keys
	return appendEvent(nil, "top", h.id(), h.top())
}
