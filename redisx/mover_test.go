package redisx

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"flashsale/internal/serve/eventloop/looptest"
	"flashsale/internal/testkit"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// userIn is a user of a slice.
func (s *Sale) userIn(slice int) uint32 {
	user := uint32(2)
	for s.of(user).index != slice {
		user++
	}
	return user
}

// Two orders want the same two last pieces, and each slice has one of them. One order gets both.
func TestMoverServesWholeOrders(t *testing.T) {
	onEngines(t, func(t *testing.T, loop pipeline.Loop) {
		cfg := unix(redistest.Start(t))
		cfg.Slices, cfg.Loop = 2, loop
		s := open(t, cfg, 2, 2)
		for i, food := range []string{"2", "1"} {
			raw(t, cfg, nil, "HSET", s.slices[i].keys.Stock, "1", "1", "2", "1", food, "0")
		}
		done := make(outcome, 2)
		users := []uint32{s.userIn(0), s.userIn(1)}
		for _, user := range users {
			for food := range int64(2) {
				testkit.Must(t, s.addToCart(user, cartName(int(user)), food+1, 1))
			}
		}
		looptest.On(cfg.Loop, func() {
			for _, user := range users {
				s.PlaceOrder(user, cartName(int(user)), nil, done)
			}
		})
		first, second := <-done, <-done
		if (first == nil) == (second == nil) || !errors.Is(errors.Join(first, second), ErrOutOfStock) {
			t.Errorf("%v, %v; want one order placed and one refused", first, second)
		}
		if left, err := s.stock(); err != nil || !slices.Equal(left, []int64{0, 0}) {
			t.Errorf("%v are left, %v", left, err)
		}
	})
}

// A slice that does not answer: orders that find their pieces elsewhere are placed within a time-out the
// first time and at once afterwards. An order is not refused as sold out, because that slice may have its
// pieces.
func TestMoverAndASlowSlice(t *testing.T) {
	first, slow := redistest.New(t), redistest.New(t)
	cfg := unix(first)
	cfg.Address, cfg.Timeout = first.Socket+","+slow.Socket, 8*time.Second
	cfg.Slices = 4 // the slices 1 and 3 are slow
	s := open(t, cfg, 4)
	one := unix(first)
	raw(t, one, nil, "HSET", s.slices[0].keys.Stock, "1", "0")
	raw(t, one, nil, "HSET", s.slices[2].keys.Stock, "1", "2")
	user := s.userIn(0)
	order := func() (took time.Duration, err error) {
		for s.of(user).index != 0 {
			user++
		}
		name := cartName(int(user))
		testkit.Must(t, s.addToCart(user, name, 1, 1))
		begin := time.Now()
		err = s.placeOrder(user, name, nil)
		user++
		return time.Since(begin), err
	}
	slow.Freeze(t)
	defer slow.Thaw(t)
	if took, err := order(); err != nil || took > cfg.Timeout {
		t.Errorf("the first order: %v after %v", err, took)
	}
	testkit.Until(t, "an order at once", func() bool { // a busy machine may be late
		raw(t, one, nil, "HSET", s.slices[0].keys.Stock, "1", "0")
		raw(t, one, nil, "HSET", s.slices[2].keys.Stock, "1", strconv.Itoa(1))
		took, err := order()
		if err != nil {
			t.Fatalf("a later order: %v after %v", err, took)
		}
		return took < cfg.patience()
	})
	if _, err := order(); !errors.Is(err, ErrUnavailable) {
		t.Errorf("an order that only the slow slices can have pieces for: %v", err)
	}
}

// An order is not refused as sold out because too many others wait.
func TestMoverIsFull(t *testing.T) {
	cfg := unix(redistest.Start(t))
	cfg.Slices = 2
	s := open(t, cfg, 2)
	m := newMover(s) // does not run
	for range pipeline.QueueMax {
		if !m.add(&placement{}) {
			t.Fatal("the list is full too early")
		}
	}
	if m.add(&placement{}) {
		t.Error("the list has no limit")
	}
}
