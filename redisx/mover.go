package redisx

import (
	"context"
	"strconv"
	"sync"

	"flashsale/redisx/pipeline"
)

// mover brings pieces to the slices that need them: to orders that wait because their slice has too few, and
// ahead of time to slices that have much less than the others.
type mover struct {
	sale *Sale
	wake chan struct{}

	mu      sync.Mutex
	waiting []*placement
	left    [][]int64 // pieces by slice and food in the last snapshot, nil without a new one
}

func newMover(s *Sale) *mover { return &mover{sale: s, wake: make(chan struct{}, 1)} }

// add lets an order wait for pieces of other slices. False: too many wait.
func (m *mover) add(p *placement) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.waiting) >= pipeline.QueueMax {
		return false
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
		m.mu.Lock()
		waiting, left := m.waiting, m.left
		m.waiting, m.left = nil, nil
		m.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			m.answer(waiting, ErrUnavailable)
			return
		case len(waiting) > 0:
			m.serve(waiting)
		}
		if left != nil {
			m.balance(left)
		}
	}
}

// answer ends orders, on the thread that owns them.
func (m *mover) answer(list []*placement, err error) {
	m.onOwner(func() {
		for _, p := range list {
			p.end(err)
		}
	})
}

// onOwner runs f on the event loop if there is one.
func (m *mover) onOwner(f func()) {
	if loop := m.sale.cfg.Loop; loop != nil {
		loop.Post(f)
		return
	}
	f()
}

// want is an order that waits, and what its cart holds: food, pieces, food, pieces, ...
type want struct {
	order  *placement
	pieces []int64
}

// serve brings pieces to the slices of waiting orders and places these orders again. An order is refused
// only if all slices together have too few pieces.
func (m *mover) serve(waiting []*placement) {
	m.sale.cfg.Figures.OrdersWaited.Add(uint64(len(waiting)))
	wanted, err := m.wanted(waiting)
	if err != nil {
		m.answer(waiting, ErrUnavailable)
		return
	}
	found, whole := m.look(wanted)
	var again []want
	var refused, unknown []*placement
	for i, p := range waiting {
		switch {
		case found.enough(wanted[i]):
			again = append(again, want{p, wanted[i]})
		case whole:
			refused = append(refused, p)
		default: // a slice that does not answer may have the pieces
			unknown = append(unknown, p)
		}
	}
	m.answer(refused, ErrOutOfStock)
	m.answer(unknown, ErrUnavailable)
	m.fetch(again, found)
	m.onOwner(func() {
		for _, w := range again {
			w.order.send(w.order.cart, w.order.key)
		}
	})
}

// answered is the completion of a call that a goroutine waits for together with others.
type answered struct {
	all *sync.WaitGroup
	err *error
}

// Complete notes the error of the call.
func (a answered) Complete(x *pipeline.Call) {
	_, *a.err = x.Result()
	x.Free()
	a.all.Done()
}

// begin sends a call that reads, and returns; all waits for its end.
func (x *slice) begin(all *sync.WaitGroup, c *pipeline.Call, err *error) {
	all.Add(1)
	if !x.redis.Send(c, answered{all, err}) {
		c.Free()
		*err = ErrUnavailable
		all.Done()
	}
}

// wanted returns what the carts of the orders hold: food, pieces, food, pieces, ...
func (m *mover) wanted(waiting []*placement) (lists [][]int64, err error) {
	var all sync.WaitGroup
	lists, errs := make([][]int64, len(waiting)), make([]error, len(waiting))
	limit := strconv.Itoa(m.sale.list.cartMax)
	for i, p := range waiting {
		cart := string(p.slice.keys.cart(nil, p.cart))
		p.slice.begin(&all, wantedScript.Call(&lists[i], []string{cart}, limit), &errs[i])
	}
	all.Wait()
	return lists, firstOf(errs)
}

// holdings are the pieces of some foods by slice.
type holdings map[int64][]int64

// enough reports whether all slices together have the wanted pieces: food, pieces, food, pieces, ...
func (h holdings) enough(wanted []int64) bool {
	for i := 0; i+1 < len(wanted); i += 2 {
		var all int64
		for _, left := range h[wanted[i]] {
			all += left
		}
		if all < wanted[i+1] {
			return false
		}
	}
	return true
}

// look returns what the slices hold of the wanted foods, after it has completed open transfers. whole is
// false if a slice does not answer.
func (m *mover) look(wanted [][]int64) (found holdings, whole bool) {
	found = holdings{}
	var foods []int64
	for _, list := range wanted {
		for i := 0; i+1 < len(list); i += 2 {
			if found[list[i]] == nil {
				found[list[i]] = make([]int64, len(m.sale.slices))
				foods = append(foods, list[i])
			}
		}
	}
	open, whole := m.read(foods, found)
	for _, to := range open {
		whole = m.sale.reach.settle(to) == nil && whole
	}
	if len(open) > 0 {
		_, again := m.read(foods, found)
		whole = whole && again
	}
	return found, whole
}

// read reads the foods of all slices, and returns the slices with open transfers.
func (m *mover) read(foods []int64, found holdings) (open []int, whole bool) {
	var all sync.WaitGroup
	parts := m.sale.slices
	replies, errs := make([][]string, len(parts)), make([]error, len(parts))
	for i := range parts {
		fields := []string{"HMGET", parts[i].keys.Stock, openField}
		for _, food := range foods {
			fields = append(fields, strconv.FormatInt(food, 10))
		}
		parts[i].begin(&all, pipeline.Command(&replies[i], fields...), &errs[i])
	}
	all.Wait()
	for i, reply := range replies {
		if errs[i] != nil || len(reply) != 1+len(foods) {
			continue
		}
		if optional(reply[0]) > 0 {
			open = append(open, i)
		}
		for k, food := range foods {
			found[food][i] = optional(reply[1+k])
		}
	}
	return open, firstOf(errs) == nil
}

// pair is the two slices of a transfer.
type pair struct{ from, to int }

// fetch brings the pieces that the orders want to their slices, from the slices with the most pieces. Where
// these have many, it brings more than is wanted, so that the next orders need not wait.
func (m *mover) fetch(wants []want, found holdings) {
	needs := map[int]map[int64]int64{} // by slice and food
	for _, w := range wants {
		to := w.order.slice.index
		if needs[to] == nil {
			needs[to] = map[int64]int64{}
		}
		for i := 0; i+1 < len(w.pieces); i += 2 {
			needs[to][w.pieces[i]] += w.pieces[i+1]
		}
	}
	plan := map[pair][]piecesOf{}
	for to, foods := range needs {
		for food, need := range foods {
			m.plan(plan, to, food, need, found[food])
		}
	}
	m.carryOut(plan)
}

// plan adds transfers of a food to a slice that needs that many pieces. left is what each slice has; the
// plan takes from it.
func (m *mover) plan(plan map[pair][]piecesOf, to int, food, need int64, left []int64) {
	for missing := need - left[to]; missing > 0; {
		from := richest(left, to)
		if left[from] == 0 {
			return
		}
		pieces := max(min(missing, left[from]), (left[from]-left[to])/2)
		left[from] -= pieces
		missing -= pieces
		plan[pair{from, to}] = append(plan[pair{from, to}], piecesOf{food, pieces, need})
	}
}

// richest is the slice with the most pieces, other than one.
func richest(left []int64, other int) (best int) {
	best = -1
	for i := range left {
		if i != other && (best < 0 || left[i] > left[best]) {
			best = i
		}
	}
	return best
}

// carryOut makes all transfers of a plan at once. A transfer that fails is completed later.
func (m *mover) carryOut(plan map[pair][]piecesOf) {
	var all sync.WaitGroup
	for p, pieces := range plan {
		all.Go(func() { _, _ = m.sale.reach.transfer(p.from, p.to, pieces) })
	}
	all.Wait()
}

// balance brings pieces to slices that have less than half of the mean of some food, from the slice that can
// give most. The same transfer brings foods of which they have less than three quarters. left is what each
// slice has of food 1, 2, 3, ...
func (m *mover) balance(left [][]int64) {
	plan := map[pair][]piecesOf{}
	for to := range left {
		if from, pieces := m.topUp(left, to); len(pieces) > 0 {
			plan[pair{from, to}] = pieces
		}
	}
	m.carryOut(plan)
}

func (m *mover) topUp(left [][]int64, to int) (from int, pieces []piecesOf) {
	gains, mean, low := make([]int64, len(left)), m.mean(left), false
	for food, own := range left[to] {
		if 2*own >= mean[food] {
			continue
		}
		low = true
		for i := range left {
			gains[i] += max(left[i][food]-own, 0) / 2
		}
	}
	if from = richest(gains, to); !low || gains[from] == 0 {
		return 0, nil
	}
	for food, own := range left[to] {
		gain := (left[from][food] - own) / 2
		if 4*own < 3*mean[food] && gain > 0 {
			pieces = append(pieces, piecesOf{int64(food) + 1, gain, (3*mean[food] + 3) / 4})
		}
	}
	return from, pieces
}

// mean is the mean of the slices' pieces of each food.
func (m *mover) mean(left [][]int64) []int64 {
	mean := make([]int64, m.sale.foods)
	for food := range mean {
		for i := range left {
			mean[food] += left[i][food]
		}
		mean[food] /= int64(len(left))
	}
	return mean
}
