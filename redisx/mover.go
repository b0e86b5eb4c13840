package redisx

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/redisx/pipeline"
)

const (
	roundMax   = 256 // waiting orders that the mover looks after at once
	portionMax = 64  // of these are placed or answered at once: this takes the thread of the loop about 100 us
)

// mover brings pieces to the slices that need them: to orders that wait because their slice has too few,
// and ahead of time to slices that have much less than the others.
type mover struct {
	sale *Sale
	wake chan struct{}
	owed []atomic.Int32 // answers that are still to come from each slice

	mu      sync.Mutex
	waiting []*placement
	left    [][]int64 // pieces by slice and food in the last snapshot, nil without a new one
}

func newMover(s *Sale) *mover {
	return &mover{sale: s, wake: make(chan struct{}, 1), owed: make([]atomic.Int32, len(s.slices))}
}

// add lets an order wait for pieces of other slices. False: too many wait.
func (m *mover) add(p *placement) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.waiting) >= pipeline.QueueMax {
		return false
	}
	if p.waits++; p.waits == 1 {
		m.sale.cfg.Figures.OrdersWaited.Inc()
	}
	m.waiting = append(m.waiting, p)
	m.wakeUp()
	return true
}

// saw gets the stocks of a snapshot.
func (m *mover) saw(left [][]int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = left
	m.wakeUp()
}

func (m *mover) wakeUp() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// run moves pieces until ctx ends.
func (m *mover) run(ctx context.Context) {
	for {
		select {
		case <-m.wake:
		case <-ctx.Done():
		}
		waiting, left := m.take(ctx.Err() != nil)
		switch {
		case ctx.Err() != nil:
			m.answer(waiting, ErrUnavailable)
			return
		case len(waiting) > 0:
			m.serve(waiting)
		}
		if left != nil {
			m.carryOut(topUps(left))
		}
	}
}

// take returns the next waiting orders, or all, and the last snapshot.
func (m *mover) take(all bool) (waiting []*placement, left [][]int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.waiting)
	if n > roundMax && !all {
		n = roundMax
		m.wakeUp()
	}
	waiting, m.waiting = m.waiting[:n:n], m.waiting[n:]
	left, m.left = m.left, nil
	return waiting, left
}

// later lets orders wait for the next round, before all others.
func (m *mover) later(list []*placement) {
	if len(list) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range list {
		p.waits++
	}
	m.waiting = append(list, m.waiting...)
	m.wakeUp()
}

// answer ends orders, on the thread that owns them.
func (m *mover) answer(list []*placement, err error) {
	m.each(list, func(p *placement) { p.end(err) })
}

// each does something to orders, on the event loop if there is one.
func (m *mover) each(list []*placement, do func(p *placement)) {
	if len(list) == 0 {
		return
	}
	portion := func() {
		n := min(len(list), portionMax)
		for _, p := range list[:n] {
			do(p)
		}
		m.each(list[n:], do)
	}
	if loop := m.sale.cfg.Loop; loop != nil {
		loop.Post(portion)
		return
	}
	portion()
}

// serve brings pieces to the slices of waiting orders and places these orders again. An order is refused
// only if all slices together have too few pieces.
func (m *mover) serve(waiting []*placement) {
	m.stepAside(waiting)
	var lost, short, again, later []*placement
	wants, errs := m.wanted(waiting)
	first := m.settled(wants)
	d := newDraft(first.left.clone())
	for i, p := range waiting {
		switch {
		case errs[i] != nil || time.Since(p.begin) > m.sale.cfg.Timeout:
			lost = append(lost, p)
		case d.reserve(wants[i]):
			again = append(again, p)
		case first.left.enough(wants[i]): // the orders before it get these pieces
			later = append(later, p)
		default:
			p.lacks = first.left.lacks(wants[i])
			short = append(short, p)
		}
	}
	if len(short) > 0 {
		switch second := m.look(wants); {
		case !first.whole || !second.whole: // a slice that does not answer may have the pieces
			lost = append(lost, short...)
		case first.calm(second):
			m.answer(short, ErrOutOfStock)
		default: // the pieces may be under way
			later = append(later, short...)
		}
	}
	m.answer(lost, ErrUnavailable)
	m.carryOut(d.transfers())
	m.each(again, func(p *placement) { p.send(p.cart, p.key) })
	m.later(later)
}

// stepAside pauses before orders that have waited before. The movers of two servers that take the same
// pieces from each other again and again get out of step.
func (m *mover) stepAside(waiting []*placement) {
	const longest = 8 * time.Millisecond
	waits := 0
	for _, p := range waiting {
		waits = max(waits, p.waits)
	}
	if waits > 1 {
		time.Sleep(rand.N(min(time.Duration(waits)*time.Millisecond, longest)))
	}
}

// ask carries out n calls at once and returns the error of each; the reply of a call with an error must not
// be read. A slice that does not answer within the patience is not asked again before it does: it delays
// the orders of other slices once.
func (m *mover) ask(n int, call func(i int) (*slice, *pipeline.Call)) (errs []error) {
	slow := make([]bool, len(m.owed))
	for i := range m.owed {
		slow[i] = m.owed[i].Load() > 0
	}
	answers := make(chan answer, n) // has room for all: a late answer waits for nothing
	for i := range n {
		x, c := call(i)
		owed := &m.owed[x.index]
		owed.Add(1)
		if slow[x.index] || !x.redis.Send(c, answering{answers, owed, i}) {
			c.Free()
			owed.Add(-1)
			answers <- answer{i, ErrUnavailable}
		}
	}
	errs = slices.Repeat([]error{ErrUnavailable}, n)
	patience := time.After(m.sale.cfg.patience())
	for range n {
		select {
		case a := <-answers:
			errs[a.call] = a.err
		case <-patience:
			return errs
		}
	}
	return errs
}

type answer struct {
	call int
	err  error
}

// answering is the completion of one of the calls of ask.
type answering struct {
	answers chan<- answer
	owed    *atomic.Int32
	call    int
}

// Complete notes the error of the call.
func (a answering) Complete(x *pipeline.Call) {
	_, err := x.Result()
	x.Free()
	a.owed.Add(-1)
	a.answers <- answer{a.call, err}
}

// wanted returns what each order wants, or why that is not known.
func (m *mover) wanted(waiting []*placement) (wants []want, errs []error) {
	lists := make([][]int64, len(waiting))
	limit := strconv.Itoa(m.sale.list.cartMax)
	errs = m.ask(len(waiting), func(i int) (*slice, *pipeline.Call) {
		p := waiting[i]
		return p.slice, wantedScript.Call(&lists[i], []string{string(p.slice.keys.cart(nil, p.cart))}, limit)
	})
	wants = make([]want, len(waiting))
	for i, p := range waiting {
		if wants[i].slice = p.slice.index; errs[i] == nil {
			wants[i].pieces = lists[i]
		}
	}
	return wants, errs
}

// found is what the slices hold of some foods. They are read one by one: pieces may be under way meanwhile.
type found struct {
	left  holdings
	open  []int    // slices with open transfers
	steps []string // the number of steps of transfers in each slice
	whole bool     // all slices have answered
}

// calm reports whether no piece was under way between two looks: then the first has counted all.
func (f found) calm(second found) bool {
	return len(f.open) == 0 && len(second.open) == 0 && slices.Equal(f.steps, second.steps)
}

// settled looks after open transfers have been completed.
func (m *mover) settled(wants []want) found {
	f := m.look(wants)
	if len(f.open) == 0 {
		return f
	}
	// The next look shows what is open.
	m.together(len(f.open), func(i int) { _ = m.sale.reach.settle(f.open[i]) })
	return m.look(wants)
}

// look reads the wanted foods in all slices.
func (m *mover) look(wants []want) found {
	parts := m.sale.slices
	f := found{left: holdings{}, steps: make([]string, len(parts))}
	fields := []string{openField, stepsField}
	var foods []int64
	for _, w := range wants {
		for i := 0; i+1 < len(w.pieces); i += 2 {
			if food := w.pieces[i]; f.left[food] == nil {
				f.left[food] = make([]int64, len(parts))
				foods, fields = append(foods, food), append(fields, strconv.FormatInt(food, 10))
			}
		}
	}
	replies := make([][]string, len(parts))
	errs := m.ask(len(parts), func(i int) (*slice, *pipeline.Call) {
		args := append([]string{"HMGET", parts[i].keys.Stock}, fields...)
		return &parts[i], pipeline.Command(&replies[i], args...)
	})
	f.whole = firstOf(errs) == nil
	for i := range replies {
		if errs[i] != nil {
			continue
		}
		reply := replies[i]
		if optional(reply[0]) > 0 {
			f.open = append(f.open, i)
		}
		f.steps[i] = reply[1]
		for k, food := range foods {
			f.left[food][i] = max(optional(reply[2+k]), 0)
			f.whole = f.whole && reply[2+k] != "" // a slice that has lost its stock may get it back
		}
	}
	return f
}

// carryOut makes all transfers of a plan at once. A transfer that fails is completed later.
func (m *mover) carryOut(plan []planned) {
	m.together(len(plan), func(i int) { _, _ = m.sale.reach.transfer(plan[i]) })
}

// together does n things at once, and waits for all of them, within the patience. What takes longer ends by
// itself.
func (m *mover) together(n int, do func(i int)) {
	done := make(chan struct{}, n)
	for i := range n {
		go func() {
			do(i)
			done <- struct{}{}
		}()
	}
	patience := time.After(m.sale.cfg.patience())
	for range n {
		select {
		case <-done:
		case <-patience:
			return
		}
	}
}
