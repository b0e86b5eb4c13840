package redisx

import (
	"errors"
	"testing"

	"flashsale/internal/serve/eventloop/looptest"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// shoppers buy on a loop, one after another, each with an add too many. One closure begins it: all that
// follows is sent by the Outcome of the step before.
type shoppers struct {
	sale  *Sale
	carts [][]byte
	user  uint32 // of the step under way
	step  int
	last  uint32 // user who buys
	wrong error  // the first outcome that is not as it should be
	done  chan struct{}
}

// Done takes the outcome of one step and begins the next one.
func (s *shoppers) Done(err error) {
	want := error(nil)
	if s.step == CartMax {
		want = ErrOverLimit
	}
	if !errors.Is(err, want) && s.wrong == nil {
		s.wrong = err
	}
	s.step++
	s.next()
}

func (s *shoppers) next() {
	if s.step > CartMax+1 {
		s.user, s.step = s.user+1, 0
	}
	switch {
	case s.wrong != nil || s.user > s.last:
		s.done <- struct{}{}
	case s.step <= CartMax:
		s.sale.AddToCart(s.user, s.carts[s.user], 1, 1, s)
	default:
		s.sale.PlaceOrder(s.user, s.carts[s.user], nil, s)
	}
}

// Adds and orders on a loop allocate nothing.
func TestNoAllocationsOnALoop(t *testing.T) {
	const orders = 500
	cfg := unix(redistest.Start(t))
	loop := looptest.Run(t)
	cfg.Loop = loop
	s := &shoppers{sale: open(t, cfg, 2*CartMax*orders), done: make(chan struct{}, 1)}
	for i := range 2*orders + 1 {
		s.carts = append(s.carts, cartName(i))
	}
	begin := func() {
		s.user, s.step = s.last+1, 0
		s.last += orders
		s.next()
	}
	// The first run fills what is kept for reuse; the second one is counted.
	allocations := testing.AllocsPerRun(1, func() {
		loop.Post(begin)
		<-s.done
	})
	if s.wrong != nil || s.last != 2*orders {
		t.Fatalf("the outcome of step %d of user %d: %v", s.step, s.user, s.wrong)
	}
	if allocations > orders/10 && !testkit.Race { // Post takes one, and the runtime some
		t.Errorf("%v allocations for %d orders of %d calls", allocations, orders, CartMax+2)
	}
	if left, err := s.sale.stock(); err != nil || left[0] != 0 {
		t.Errorf("stock %v, %v; want none", left, err)
	}
}

func TestNoAllocations(t *testing.T) {
	s := open(t, unix(redistest.Start(t)), 1000)
	user := uint32(0)
	var carts [1100][]byte
	for i := range carts {
		carts[i] = cartName(i)
	}
	done := make(outcome, 1)
	for name, call := range map[string]func(){
		"adds and an order": func() {
			user++
			for range CartMax + 1 { // the last one is refused
				s.AddToCart(user, carts[user], 1, 1, done)
				<-done
			}
			s.PlaceOrder(user, carts[user], nil, done)
			<-done
		},
		"an add to a full cart": func() {
			s.AddToCart(1, carts[0], 1, 1, done)
			<-done
		},
	} {
		if n := testing.AllocsPerRun(900, call); n != 0 && !testkit.Race {
			t.Errorf("%v allocations for %s, want 0", n, name)
		}
	}
}
