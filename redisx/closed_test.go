package redisx

import (
	"errors"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// A sale that was closed by its time stays closed when the clock of Redis goes back.
// Here the time of closing moves instead, which is the same to the scripts.
func TestClosedStaysWhenTheClockGoesBack(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 5, 5)
		testkit.Must(t, s.addToCart(2, cartName(2), 1, 1))
		put(t, cfg, "closes_at=past")
		if _, err := s.Snapshot(); err != nil { // notes that it is closed
			t.Fatal(err)
		}
		put(t, cfg, "closes_at=later")
		wantError(t, "an order", s.placeOrder(2, cartName(2), nil), ErrClosed)
		found, err := s.Snapshot()
		if err != nil || found.State != StateClosed || found.Left[0] != 5 {
			t.Errorf("%+v, %v; want closed", found, err)
		}
		checkGate(t, cfg, s, found.Current)
		if now, err := s.Change(Change{By: "root", ClosesAt: wanted("coming")}); err != nil ||
			now.State != StateClosed {
			t.Errorf("another time of closing: %+v, %v; want closed", now, err)
		}
		if _, err := s.Change(Change{By: "root", State: StateOpen}); err != nil {
			t.Fatal(err)
		}
		wantError(t, "an order after root has opened the sale", s.placeOrder(2, cartName(2), nil), nil)
		const want = "terminal opened 10 {} {}, clock state open closed, root times {} {later}-{} {coming}, " +
			"root state closed open"
		if log := logOf(t, s); log != want {
			t.Errorf("log %s\nwant %s", log, want)
		}
	})
}

// A Redis without memory still shuts a sale.
func TestShutWithoutMemory(t *testing.T) {
	for _, state := range []State{StatePaused, StateClosed} {
		t.Run(string(state), func(t *testing.T) {
			server := redistest.New(t)
			cfg := unix(server)
			s := open(t, cfg, 5, 5)
			testkit.Must(t, s.addToCart(2, cartName(2), 1, 1))
			server.Do(t, "CONFIG SET maxmemory 1mb")
			if now, err := s.Change(Change{By: "root", State: state}); err != nil || now.State != state {
				t.Errorf("without memory: %+v, %v; want %s", now, err, state)
			}
			if err := s.placeOrder(2, cartName(2), nil); !errors.Is(err, ErrPaused) && !errors.Is(err, ErrClosed) {
				t.Errorf("an order: %v, want a refusal", err)
			}
		})
	}
}
