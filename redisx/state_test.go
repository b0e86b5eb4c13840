package redisx

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// moment is a time in a table: "" for none, "past" and "coming" an hour from now, "now" within a minute.
func moment(name string) time.Time {
	switch name {
	case "past":
		return time.Now().Add(-time.Hour).Truncate(time.Hour).UTC()
	case "coming":
		return time.Now().Add(2 * time.Hour).Truncate(time.Hour).UTC()
	case "later":
		return time.Now().Add(4 * time.Hour).Truncate(time.Hour).UTC()
	}
	return time.Time{}
}

// nameOf is the inverse of moment.
func nameOf(t time.Time) string {
	for _, name := range []string{"", "past", "coming", "later"} {
		if moment(name).Equal(t) {
			return name
		}
	}
	if age := time.Since(t); age > -time.Second && age < time.Minute {
		return "now"
	}
	return t.String()
}

// wanted makes the time of a change: "" leaves it, "none" takes it away.
func wanted(name string) *time.Time {
	if name == "" {
		return nil
	}
	at := moment(name)
	return &at
}

// put writes a marker with these fields; of the times it takes the names.
func put(t *testing.T, cfg Config, fields string) {
	t.Helper()
	for field := range strings.FieldsSeq(fields) {
		name, value, _ := strings.Cut(field, "=")
		if at := moment(value); !at.IsZero() {
			value = fmt.Sprint(at.UnixMilli())
		}
		raw(t, cfg, nil, "HSET", MarkerKey, name, value)
	}
}

// checkGate compares the gate with a state.
func checkGate(t *testing.T, cfg Config, s *Sale, current Current) {
	t.Helper()
	there := rawString(t, cfg, "EXISTS", gatePrefix+s.ID()) == "1"
	text, ttl := rawString(t, cfg, "GET", gatePrefix+s.ID()), rawString(t, cfg, "TTL", gatePrefix+s.ID())
	if there != (current.State == StateOpen) {
		t.Errorf("%s: the gate is there: %t", current.State, there)
	}
	if there && (text != millisecondsOf(current.ClosesAt) || (ttl == "-1") != current.ClosesAt.IsZero()) {
		t.Errorf("the gate is %q for %s s, the sale closes at %v", text, ttl, current.ClosesAt)
	}
}

// Outside its open state a sale places no order and leaves carts as they are; what was placed stays known.
func TestOrdersOutsideOpen(t *testing.T) {
	for marker, want := range map[string]error{
		"opens_at=coming": ErrNotOpen, "paused=1": ErrPaused, "closed=past": ErrClosed,
		"closes_at=past": ErrClosed,
	} {
		t.Run(marker, func(t *testing.T) {
			onEach(t, func(t *testing.T, cfg Config) {
				s := open(t, cfg, 5)
				for user := uint32(2); user < 4; user++ {
					testkit.Must(t, s.addToCart(user, cartName(int(user)), 1, 1))
				}
				testkit.Must(t, s.placeOrder(2, cartName(2), []byte("k")))
				put(t, cfg, marker)
				if _, err := s.Snapshot(); err != nil { // shuts
					t.Fatal(err)
				}
				for cart, err := range map[int]error{3: want, 4: want} { // 4 is empty
					if got := s.placeOrder(3, cartName(cart), nil); !errors.Is(got, err) {
						t.Errorf("cart %d: %v, want %v", cart, got, err)
					}
				}
				testkit.Wants(t, "add", s.addToCart(3, cartName(3), 1, 1), nil)
				if got := rawString(t, cfg, "GET", cartPrefix+string(cartName(3))); got != "1:1,1:1," {
					t.Errorf("the cart is %q", got)
				}
				testkit.Wants(t, "the same order again", s.placeOrder(2, cartName(2), []byte("k")), nil)
				testkit.Wants(t, "a second order", s.placeOrder(2, cartName(2), nil), ErrHasOrder)
				if found, err := s.Snapshot(); err != nil || found.Left[0] != 4 || found.Orders != 1 {
					t.Errorf("then %+v, %v", found, err)
				}
				if _, err := s.Change(Change{By: "root", State: StateOpen}); err != nil {
					t.Fatal(err)
				}
				testkit.Wants(t, "opened", s.placeOrder(3, cartName(3), nil), nil)
			})
		})
	}
}

// A gate that is lost does not hold up an order: the order's own script makes it. A gate that should not be
// there goes at the next look.
func TestGateFollowsTheMarker(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 9)
		for user := range uint32(2) {
			testkit.Must(t, s.addToCart(user+1, cartName(int(user)), 1, 1))
			raw(t, cfg, nil, "DEL", gatePrefix+s.ID())
			if user == 1 {
				put(t, cfg, "closes_at=later")
			}
			if err := s.placeOrder(user+1, cartName(int(user)), nil); err != nil {
				t.Errorf("order of user %d: %v", user+1, err)
			}
			found, err := s.Snapshot()
			testkit.Must(t, err)
			checkGate(t, cfg, s, found.Current)
		}
		raw(t, cfg, nil, "DEL", gatePrefix+s.ID())
		raw(t, cfg, nil, "HDEL", MarkerKey, "id")
		testkit.Wants(t, "without marker and gate", s.placeOrder(7, cartName(1), nil), ErrSaleGone)
		if n := rawString(t, cfg, "EXISTS", gatePrefix+s.ID()); n != "0" {
			t.Error("a gate was made for a sale without a marker")
		}
		raw(t, cfg, nil, "HSET", MarkerKey, "id", s.ID(), "paused", "1")
		raw(t, cfg, nil, "SET", gatePrefix+s.ID(), "")
		found, err := s.Snapshot()
		if err != nil || found.State != StatePaused {
			t.Fatalf("%+v, %v; want paused", found, err)
		}
		checkGate(t, cfg, s, found.Current)
	})
}

// The times of a sale are those with which it was opened. A time between two milliseconds counts from the
// later one on: nothing is sold before the time asked for.
func TestOpenWithTimes(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		whole, later := moment("coming"), moment("later")
		between := whole.Add(time.Microsecond)
		rounded := whole.Add(time.Millisecond)
		opened, err := Open(t.Context(), cfg, Opening{Catalog: catalogPrint, Stock: []int64{5, 7},
			Times: Times{whole, between}})
		want := Times{whole, rounded}
		if err != nil || !opened.Fresh || opened.Times != want {
			t.Fatalf("%+v, %v; want %v", opened, err, want)
		}
		joined, err := Open(t.Context(), cfg, Opening{Catalog: catalogPrint, Stock: []int64{5, 7}})
		if err != nil || joined.Fresh || joined.Times != want {
			t.Errorf("joined %+v, %v", joined, err)
		}
		late := Opening{Catalog: catalogPrint, Stock: []int64{5, 7}, Times: Times{ClosesAt: moment("past")}}
		if joined, err := Open(t.Context(), cfg, late); err != nil || joined.Times != want {
			t.Errorf("a server that starts after its time to close joins %+v, %v", joined, err)
		}
		s := joinSale(t, cfg, opened.Sale, 2)
		found, err := s.Snapshot()
		if err != nil || found.State != StateScheduled || found.Times != want {
			t.Errorf("%+v, %v", found, err)
		}
		first := logEntries(t, s)[0]
		if first.What != LogOpened || first.Pieces != 12 || first.TimesAfter != want {
			t.Errorf("log %+v", first)
		}
		now, err := s.Change(Change{By: "root", OpensAt: &between, ClosesAt: &later})
		if want := (Times{rounded, later}); err != nil || now.Times != want {
			t.Errorf("changed to %v, %v; want %v", now.Times, err, want)
		}
	})
}

// The state is known also where Redis takes no writes.
func TestStateWithoutWrites(t *testing.T) {
	server := redistest.New(t)
	cfg := unix(server)
	s := open(t, cfg, 5)
	put(t, cfg, "closes_at=past")
	server.Do(t, "REPLICAOF 127.0.0.1 1")
	if found, err := s.Snapshot(); err != nil || found.State != StateClosed || found.Left[0] != 5 {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := s.Change(Change{By: "root", State: StateOpen}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("change: %v", err)
	}
	server.Do(t, "REPLICAOF NO ONE")
	testkit.Until(t, "the close is logged", func() bool {
		_, err := s.Snapshot()
		return err == nil && logOf(t, s) == "terminal opened 5 {} {}, clock state open closed"
	})
}

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
		testkit.Wants(t, "an order", s.placeOrder(2, cartName(2), nil), ErrClosed)
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
		testkit.Wants(t, "an order after root has opened the sale", s.placeOrder(2, cartName(2), nil), nil)
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
