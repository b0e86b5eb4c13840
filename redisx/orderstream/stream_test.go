package orderstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/saletest"
)

func openStream(tb testing.TB, cfg redisx.Config, s saletest.Sale, consumer string) *Stream {
	tb.Helper()
	stream, err := Open(tb.Context(), cfg, s.ID(), 0, 2, consumer)
	testkit.Must(tb, err)
	tb.Cleanup(stream.Close)
	return stream
}

// readStream returns what Read does and the users of these orders.
func readStream(tb testing.TB, stream *Stream, before bool, count int) ([]Order, []uint32) {
	tb.Helper()
	orders, err := stream.Read(before, count)
	testkit.Must(tb, err)
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

func wantWaiting(tb testing.TB, cfg redisx.Config, s saletest.Sale, want int) {
	tb.Helper()
	if found, err := redisx.ReadBacklog(tb.Context(), cfg, s.ID()); err != nil || found.Orders != want {
		tb.Errorf("%d orders wait, %v; want %d", found.Orders, err, want)
	}
}

func done(tb testing.TB, stream *Stream, orders []Order) {
	tb.Helper()
	testkit.Must(tb, stream.Done(orders))
}

// A sale without a ledger has no stream; once a server has switched it on, the orders of all others go
// there.
func TestLedgerIsSwitchedOn(t *testing.T) {
	saletest.OnEach(t, func(t *testing.T, cfg redisx.Config) {
		s := saletest.Open(t, cfg, 9, 9)
		s.Buy(t, 2)
		if found, err := s.Ready(); err != nil || found.Kept || found.Orders != 0 || found.Age(time.Now()) != 0 {
			t.Errorf("backlog without a ledger %+v, %v", found, err)
		}
		if n := saletest.Text(t, cfg, "EXISTS", cfg.KeysOf(s.ID(), 0).Stream); n != "0" {
			t.Error("there is a stream without a ledger")
		}
		stream := openStream(t, cfg, s, "a")
		if !stream.Filling() {
			t.Error("the ledger is just switched on and not filling")
		}
		start := time.Now().Add(-time.Second)
		s.Buy(t, 3)
		orders, users := readStream(t, stream, false, 10)
		wantUsers(t, "after the switch", users, 3)
		o, now := orders[0], time.Now().Add(time.Second)
		one := []redisx.Item{{Food: 1, Count: 1}}
		if !slices.Equal(o.Items, one) || o.Placed.Before(start) || o.Placed.After(now) {
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
		testkit.Must(t, stream.Filled())
		if again := openStream(t, cfg, s, "b"); again.Filling() {
			t.Error("the ledger is filled, and it is filling")
		}
	})
}

// Only what was placed is in the stream, whatever else was asked for.
func TestRefusedOrdersAreNotInTheStream(t *testing.T) {
	saletest.OnEach(t, func(t *testing.T, cfg redisx.Config) {
		s := saletest.Open(t, cfg, 1, 9)
		stream := openStream(t, cfg, s, "a")
		s.Buy(t, 2)
		for user, want := range map[int]error{
			2: redisx.ErrHasOrder, 3: redisx.ErrOutOfStock, 4: redisx.ErrCartEmpty,
		} {
			if user == 3 {
				testkit.Must(t, s.AddToCart(3, saletest.CartName(3), 1, 1))
			}
			if err := s.PlaceOrder(uint32(user), saletest.CartName(user), nil); !errors.Is(err, want) {
				t.Errorf("order of user %d: %v, want %v", user, err, want)
			}
		}
		if err := s.PlaceOrder(2, saletest.CartName(2), []byte("key")); err != nil {
			t.Errorf("the same order under its key: %v", err)
		}
		_, users := readStream(t, stream, false, 10)
		wantUsers(t, "in the stream", users, 2)
	})
}

// An order belongs to one consumer until it is done, and is there as long.
func TestStreamGivesEachOrderToOne(t *testing.T) {
	saletest.OnEach(t, func(t *testing.T, cfg redisx.Config) {
		s := saletest.Open(t, cfg, 9, 9)
		a, b := openStream(t, cfg, s, "a"), openStream(t, cfg, s, "b")
		s.Buy(t, 2, 3, 4, 5, 6)
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
		s.Buy(t, 7)
		_, users = readStream(t, b, false, 9)
		wantUsers(t, "after an empty stream", users, 7)
	})
}

// What a dead consumer has left is taken over, and only that.
func TestTakeOver(t *testing.T) {
	saletest.OnEach(t, func(t *testing.T, cfg redisx.Config) {
		s := saletest.Open(t, cfg, 9, 9)
		dead, alive := openStream(t, cfg, s, "dead"), openStream(t, cfg, s, "alive")
		s.Buy(t, 2, 3, 4)
		left, _ := readStream(t, dead, false, 2)
		testkit.Must(t, alive.TakeOver(time.Hour, 10))
		_, users := readStream(t, alive, true, 10)
		wantUsers(t, "within the time", users)
		testkit.Must(t, alive.TakeOver(0, 1))
		_, users = readStream(t, alive, true, 10)
		wantUsers(t, "at most one", users, 2)
		testkit.Must(t, alive.TakeOver(0, 10))
		taken, users := readStream(t, alive, true, 10)
		wantUsers(t, "all", users, 2, 3)
		done(t, dead, left) // it was not dead: both have written them
		done(t, alive, taken)
		wantWaiting(t, cfg, s, 1)
	})
}

// Somebody else's entry does not hold up what is behind it.
func TestForeignEntry(t *testing.T) {
	saletest.OnEach(t, func(t *testing.T, cfg redisx.Config) {
		s := saletest.Open(t, cfg, 9, 9)
		stream := openStream(t, cfg, s, "a")
		key := cfg.KeysOf(s.ID(), 0).Stream
		for _, fields := range [][]string{
			{"x", "y"}, {"user", "two", "items", "1:1,"}, {"user", "2", "items", "3:1,"},
		} {
			saletest.Command(t, cfg, nil, append([]string{"XADD", key, "*"}, fields...)...)
		}
		s.Buy(t, 2)
		orders, users := readStream(t, stream, false, 10)
		wantUsers(t, "behind foreign entries", users, 2)
		done(t, stream, orders)
		wantWaiting(t, cfg, s, 0)
	})
}

// A stream that somebody has deleted is made again, and what was in it is to be filled in.
func TestLostStream(t *testing.T) {
	saletest.OnEach(t, func(t *testing.T, cfg redisx.Config) {
		s := saletest.Open(t, cfg, 9, 9)
		stream := openStream(t, cfg, s, "a")
		testkit.Must(t, stream.Filled())
		saletest.Command(t, cfg, nil, "DEL", cfg.KeysOf(s.ID(), 0).Stream)
		if _, err := stream.Read(false, 1); err == nil {
			t.Error("a stream that is gone can be read")
		}
		again := openStream(t, cfg, s, "a")
		if !again.Filling() {
			t.Error("the stream is lost and the ledger is not filling")
		}
		s.Buy(t, 2)
		_, users := readStream(t, again, false, 1)
		wantUsers(t, "in the new stream", users, 2)
	})
}

func TestStreamOfNoSale(t *testing.T) {
	saletest.OnEach(t, func(t *testing.T, cfg redisx.Config) {
		s := saletest.Open(t, cfg, 9)
		saletest.Command(t, cfg, nil, "FLUSHALL")
		if _, err := Open(t.Context(), cfg, s.ID(), 0, 1, "a"); !errors.Is(err, redisx.ErrSaleGone) {
			t.Errorf("stream of a sale that is gone: %v, want redisx.ErrSaleGone", err)
		}
		if n := saletest.Text(t, cfg, "DBSIZE"); n != "0" {
			t.Errorf("%s keys were put into Redis", n)
		}
		if _, err := redisx.Find(t.Context(), cfg, saletest.Catalog, ""); !errors.Is(err, redisx.ErrNoSale) {
			t.Errorf("no sale is found: %v, want redisx.ErrNoSale", err)
		}
	})
}

func TestUsers(t *testing.T) {
	saletest.OnEach(t, func(t *testing.T, cfg redisx.Config) {
		s := saletest.Open(t, cfg, 9, 9)
		streamed := func() (users []uint32) {
			testkit.Must(t, Users(t.Context(), cfg, s.ID(), func(user uint32) { users = append(users, user) }))
			return users
		}
		wantUsers(t, "without a ledger", streamed())
		openStream(t, cfg, s, "a")
		var want []uint32
		for user := range uint32(2*redisx.ScanCount + 1) {
			want = append(want, user)
			saletest.Command(t, cfg, nil, "XADD", cfg.KeysOf(s.ID(), 0).Stream, "*", "user", fmt.Sprint(user),
				"items", "1:1,")
		}
		wantUsers(t, "more than two pages", streamed(), want...)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := Users(ctx, cfg, s.ID(), func(uint32) {}); !errors.Is(err, context.Canceled) {
			t.Errorf("after cancel: %v", err)
		}
	})
}

// Each order is in the stream of its user's slice, and Users finds all.
func TestStreamOfEachSlice(t *testing.T) { saletest.OnSlices(t, streamOfEachSlice) }

func TestStreamOfEachSliceInCluster(t *testing.T) { saletest.OnCluster(t, streamOfEachSlice) }

func streamOfEachSlice(t *testing.T, cfg redisx.Config) {
	const users = 30
	s := saletest.Open(t, cfg, users, 9)
	var streams []*Stream
	for slice := range cfg.SliceCount() {
		stream, err := Open(t.Context(), cfg, s.ID(), slice, 2, "a")
		testkit.Must(t, err)
		t.Cleanup(stream.Close)
		streams = append(streams, stream)
	}
	var want, all, visited []uint32
	for user := range users {
		s.Buy(t, user)
		want = append(want, uint32(user))
	}
	testkit.Must(t, Users(t.Context(), cfg, s.ID(), func(user uint32) { visited = append(visited, user) }))
	for slice, stream := range streams {
		orders, got := readStream(t, stream, false, users)
		if len(got) == 0 {
			t.Errorf("slice %d has no order", slice)
		}
		wantWaiting(t, cfg, s, users-len(all))
		done(t, stream, orders)
		all = append(all, got...)
	}
	wantWaiting(t, cfg, s, 0)
	slices.Sort(all)
	slices.Sort(visited)
	wantUsers(t, "in all streams", all, want...)
	wantUsers(t, "visited", visited, want...)
}
