package redisx

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

func openStream(tb testing.TB, cfg Config, s *Sale, consumer string) *Stream {
	tb.Helper()
	stream, err := OpenStream(tb.Context(), cfg, s.ID(), s.foods, consumer)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(stream.Close)
	return stream
}

// buy places an order of one piece for each of the users.
func buy(tb testing.TB, s *Sale, users ...int) {
	tb.Helper()
	for _, user := range users {
		if err := s.addToCart(uint32(user), cartName(user), 1, 1); err != nil {
			tb.Fatal(err)
		}
		if err := s.placeOrder(uint32(user), cartName(user), []byte("key")); err != nil {
			tb.Fatal(err)
		}
	}
}

// readStream returns what Read does and the users of these orders.
func readStream(tb testing.TB, stream *Stream, before bool, count int) ([]PlacedOrder, []uint32) {
	tb.Helper()
	orders, err := stream.Read(before, count)
	if err != nil {
		tb.Fatal(err)
	}
	var users []uint32
	for _, order := range orders {
		users = append(users, order.User)
	}
	return orders, users
}

func wantUsers(tb testing.TB, what string, got []uint32, want ...uint32) {
	tb.Helper()
	if !slices.Equal(got, want) {
		tb.Errorf("%s: orders of users %v, want %v", what, got, want)
	}
}

func wantWaiting(tb testing.TB, cfg Config, s *Sale, want int) {
	tb.Helper()
	if found, err := ReadBacklog(tb.Context(), cfg, s.ID()); err != nil || found.Orders != want {
		tb.Errorf("%d orders wait, %v; want %d", found.Orders, err, want)
	}
}

func done(tb testing.TB, stream *Stream, orders []PlacedOrder) {
	tb.Helper()
	if err := stream.Done(orders); err != nil {
		tb.Fatal(err)
	}
}

// A sale without a ledger has no stream; once a server has switched it on, the orders of all others go
// there.
func TestLedgerIsSwitchedOn(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 9, 9)
		buy(t, s, 2)
		if found, err := s.Ready(); err != nil || found.Kept || found.Orders != 0 || found.Age(time.Now()) != 0 {
			t.Errorf("backlog without a ledger %+v, %v", found, err)
		}
		if n := rawString(t, cfg, "EXISTS", streamPrefix+s.ID()); n != "0" {
			t.Error("there is a stream without a ledger")
		}
		stream := openStream(t, cfg, s, "a")
		if !stream.Filling() {
			t.Error("the ledger is just switched on and not filling")
		}
		start := time.Now().Add(-time.Second)
		buy(t, s, 3)
		orders, users := readStream(t, stream, false, 10)
		wantUsers(t, "after the switch", users, 3)
		o, now := orders[0], time.Now().Add(time.Second)
		if !slices.Equal(o.Items, []Item{{1, 1}}) || o.Placed.Before(start) || o.Placed.After(now) {
			t.Errorf("order %+v, want one piece of food 1, placed now", o)
		}
		found, err := s.Ready()
		age := found.Age(o.Placed.Add(time.Minute))
		if err != nil || !found.Kept || found.Orders != 1 || age != time.Minute {
			t.Errorf("backlog %+v, %v; want one order", found, err)
		}
		if again := openStream(t, cfg, s, "b"); !again.Filling() {
			t.Error("the ledger is not filled yet, and it is not filling")
		}
		if err := stream.Filled(); err != nil {
			t.Fatal(err)
		}
		if again := openStream(t, cfg, s, "b"); again.Filling() {
			t.Error("the ledger is filled, and it is filling")
		}
	})
}

// Only what was placed is in the stream, whatever else was asked for.
func TestRefusedOrdersAreNotInTheStream(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 1, 9)
		stream := openStream(t, cfg, s, "a")
		buy(t, s, 2)
		for user, want := range map[int]error{2: ErrHasOrder, 3: ErrOutOfStock, 4: ErrCartEmpty} {
			if user == 3 {
				if err := s.addToCart(3, cartName(3), 1, 1); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.placeOrder(uint32(user), cartName(user), nil); !errors.Is(err, want) {
				t.Errorf("order of user %d: %v, want %v", user, err, want)
			}
		}
		if err := s.placeOrder(2, cartName(2), []byte("key")); err != nil {
			t.Errorf("the same order under its key: %v", err)
		}
		_, users := readStream(t, stream, false, 10)
		wantUsers(t, "in the stream", users, 2)
	})
}

// An order belongs to one consumer until it is done, and is there as long.
func TestStreamGivesEachOrderToOne(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 9, 9)
		a, b := openStream(t, cfg, s, "a"), openStream(t, cfg, s, "b")
		buy(t, s, 2, 3, 4, 5, 6)
		first, users := readStream(t, a, false, 2)
		wantUsers(t, "a", users, 2, 3)
		second, users := readStream(t, b, false, 2)
		wantUsers(t, "b", users, 4, 5)
		_, users = readStream(t, a, true, 2)
		wantUsers(t, "a again", users, 2, 3)
		done(t, b, second)
		wantWaiting(t, cfg, s, 5) // the start of the stream is still a's
		_, users = readStream(t, b, true, 9)
		wantUsers(t, "b after it is done", users)
		done(t, a, first)
		wantWaiting(t, cfg, s, 1)
		third, users := readStream(t, a, false, 9)
		wantUsers(t, "the last", users, 6)
		done(t, a, third)
		done(t, a, third) // as after an answer that was lost
		wantWaiting(t, cfg, s, 0)
		buy(t, s, 7)
		_, users = readStream(t, b, false, 9)
		wantUsers(t, "after an empty stream", users, 7)
	})
}

// What a dead consumer has left is taken over, and only that.
func TestTakeOver(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 9, 9)
		dead, alive := openStream(t, cfg, s, "dead"), openStream(t, cfg, s, "alive")
		buy(t, s, 2, 3, 4)
		left, _ := readStream(t, dead, false, 2)
		if err := alive.TakeOver(time.Hour, 10); err != nil {
			t.Fatal(err)
		}
		_, users := readStream(t, alive, true, 10)
		wantUsers(t, "within the time", users)
		if err := alive.TakeOver(0, 1); err != nil {
			t.Fatal(err)
		}
		_, users = readStream(t, alive, true, 10)
		wantUsers(t, "at most one", users, 2)
		if err := alive.TakeOver(0, 10); err != nil {
			t.Fatal(err)
		}
		taken, users := readStream(t, alive, true, 10)
		wantUsers(t, "all", users, 2, 3)
		done(t, dead, left) // it was not dead: both have written them
		done(t, alive, taken)
		wantWaiting(t, cfg, s, 1)
	})
}

// Somebody else's entry does not hold up what is behind it.
func TestForeignEntry(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 9, 9)
		stream := openStream(t, cfg, s, "a")
		key := streamPrefix + s.ID()
		for _, fields := range [][]string{
			{"x", "y"}, {"user", "two", "items", "1:1,"}, {"user", "2", "items", "3:1,"},
		} {
			raw(t, cfg, nil, append([]string{"XADD", key, "*"}, fields...)...)
		}
		buy(t, s, 2)
		orders, users := readStream(t, stream, false, 10)
		wantUsers(t, "behind foreign entries", users, 2)
		done(t, stream, orders)
		wantWaiting(t, cfg, s, 0)
	})
}

// A stream that somebody has deleted is made again, and what was in it is to be filled in.
func TestLostStream(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 9, 9)
		stream := openStream(t, cfg, s, "a")
		if err := stream.Filled(); err != nil {
			t.Fatal(err)
		}
		raw(t, cfg, nil, "DEL", streamPrefix+s.ID())
		if _, err := stream.Read(false, 1); err == nil {
			t.Error("a stream that is gone can be read")
		}
		again := openStream(t, cfg, s, "a")
		if !again.Filling() {
			t.Error("the stream is lost and the ledger is not filling")
		}
		buy(t, s, 2)
		_, users := readStream(t, again, false, 1)
		wantUsers(t, "in the new stream", users, 2)
	})
}

func TestStreamOfNoSale(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 9)
		raw(t, cfg, nil, "FLUSHALL")
		if _, err := OpenStream(t.Context(), cfg, s.ID(), 1, "a"); !errors.Is(err, ErrSaleGone) {
			t.Errorf("stream of a sale that is gone: %v, want ErrSaleGone", err)
		}
		if n := rawString(t, cfg, "DBSIZE"); n != "0" {
			t.Errorf("%s keys were put into Redis", n)
		}
		if _, err := Find(t.Context(), cfg, catalogPrint, ""); !errors.Is(err, ErrNoSale) {
			t.Errorf("no sale is found: %v, want ErrNoSale", err)
		}
	})
}

func TestFind(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 9)
		if id, err := Find(t.Context(), cfg, catalogPrint, ""); err != nil || id != s.ID() {
			t.Errorf("found %q, %v; want %q", id, err, s.ID())
		}
		if _, err := Find(t.Context(), cfg, "other foods", ""); !errors.Is(err, ErrOtherFoods) {
			t.Errorf("other foods: %v, want ErrOtherFoods", err)
		}
	})
}

func TestStreamedUsers(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 9, 9)
		key := streamPrefix + s.ID()
		streamed := func() (users []uint32) {
			if err := s.StreamedUsers(t.Context(), func(user uint32) { users = append(users, user) }); err != nil {
				t.Fatal(err)
			}
			return users
		}
		wantUsers(t, "without a ledger", streamed())
		openStream(t, cfg, s, "a")
		var want []uint32
		for user := range uint32(2*scanCount + 1) {
			want = append(want, user)
			name := string(appendOrderKey(nil, user)[len(orderPrefix):])
			raw(t, cfg, nil, "XADD", key, "*", "user", name, "items", "1:1,")
		}
		wantUsers(t, "more than two pages", streamed(), want...)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.StreamedUsers(ctx, func(uint32) {}); !errors.Is(err, context.Canceled) {
			t.Errorf("after cancel: %v", err)
		}
	})
}
