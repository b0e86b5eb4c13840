package redisx

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
)

// Each line: what happens to the stock of two foods, and which are sold out then. The time of a food stays
// until it has pieces again, and the log tells each time at which all are sold out.
func TestSoldOut(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 1, 2)
		since := map[int]time.Time{}
		for i, step := range []struct {
			user, food, pieces int64 // an order; without a user a restock
			soldOut            string
		}{
			{0, 1, 0, ""}, {2, 1, 1, "1"}, {0, 2, 1, "1"}, {3, 2, 3, "1 2"}, {0, 2, 0, "1 2"},
			{0, 1, 4, "2"}, {0, 1, -4, "1 2"}, {0, 2, 1, "1"},
		} {
			if step.user == 0 {
				_, _, err := s.Restock(Restock{By: "root", Food: step.food, Add: step.pieces})
				testkit.Must(t, err)
			} else {
				user, cart := uint32(step.user), cartName(int(step.user))
				testkit.Must(t, s.addToCart(user, cart, step.food, step.pieces))
				testkit.Must(t, s.placeOrder(user, cart, nil))
			}
			for range 2 { // the first one notes it
				s.wantSoldOut(t, fmt.Sprint("step ", i+1), step.soldOut, since)
			}
		}
		const want = "terminal opened 3 {} {}, root stock 2: 2+1=3, clock sold_out, root stock 1: 0+4=4, " +
			"root stock 1: 4-4=0, clock sold_out, root stock 2: 0+1=1"
		if log := logOf(t, s); log != want {
			t.Errorf("log %s\nwant %s", log, want)
		}
		note := func() (at []int64) {
			x := s.home()
			keys := []string{x.keys.Marker, x.keys.Stock, x.keys.Log}
			testkit.Must(t, x.redis.Do(soldOutScript.Call(&at, keys, s.id, "2", "1", "2")))
			return at
		}
		if at := note(); len(at) != 2 || at[0] != since[0].UnixMilli() || at[1] != 0 { // a restock has come first
			t.Errorf("noted again: %d, want %d and 0", at, since[0].UnixMilli())
		}
		raw(t, cfg, nil, "HDEL", MarkerKey, "id")
		if at := note(); len(at) > 0 {
			t.Errorf("without the sale: %d", at)
		}
	})
}

// wantSoldOut compares a snapshot with the foods that are sold out. since has their times.
func (s *Sale) wantSoldOut(t *testing.T, name, want string, since map[int]time.Time) {
	t.Helper()
	found, err := s.Snapshot()
	testkit.Must(t, err)
	var got []string
	for i, at := range found.SoldOut {
		if at.IsZero() {
			delete(since, i)
			continue
		}
		got = append(got, fmt.Sprint(i+1))
		if before, known := since[i]; known && !before.Equal(at) || at.After(found.Now.Add(time.Second)) {
			t.Errorf("%s: food %d is sold out since %v, before since %v", name, i+1, at, before)
		}
		since[i] = at
	}
	if strings.Join(got, " ") != want {
		t.Errorf("%s: sold out are %q, want %q", name, got, want)
	}
	at, all := found.SoldOutAt()
	if all != (len(got) == len(found.Left)) || all && at.IsZero() {
		t.Errorf("%s: all sold out: %t, since %v", name, all, at)
	}
}

// In a sale with slices a food is sold out once no slice has pieces. A note that came too early is taken
// back.
func TestSoldOutInSlices(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		cfg.Slices = 3
		s := open(t, cfg, 2, 300)
		since := map[int]time.Time{}
		s.wantSoldOut(t, "some slice has pieces", "", since)
		x := s.home()
		raw(t, cfg, nil, "HSET", x.keys.Stock, "!2", "1700000000123", soldOutField, "1")
		s.wantSoldOut(t, "a wrong note", "", since)
		if got := rawString(t, cfg, "HGET", x.keys.Stock, soldOutField); got != "0" {
			t.Errorf("%s foods are noted, want 0", got)
		}
		_, _, err := s.Restock(Restock{By: "root", Food: 1, Add: -2})
		testkit.Must(t, err)
		s.wantSoldOut(t, "taken back", "1", since)
	})
}
