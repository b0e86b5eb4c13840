package redisx

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/observe/figures"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

func TestOpenOnce(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		o := Opening{Catalog: catalogPrint, Stock: []int64{5, 7}}
		var opened [3]Opened
		var wg sync.WaitGroup
		for i := range opened {
			wg.Go(func() {
				var err error
				if opened[i], err = Open(t.Context(), cfg, o); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		id, fresh := opened[0].Sale, 0
		for _, one := range opened {
			if one.Sale != id || len(id) != 8 {
				t.Errorf("sale %q, want the same id of 8 characters as %q", one.Sale, id)
			}
			if one.Fresh {
				fresh++
			}
		}
		if fresh != 1 {
			t.Errorf("%d servers opened the sale, want 1", fresh)
		}
		raw(t, cfg, nil, "HINCRBY", stockPrefix+id, "1", "-4")
		if again, err := Open(t.Context(), cfg, o); err != nil || again.Fresh {
			t.Errorf("a restart: opened %+v, %v", again, err)
		}
		stock, err := joinSale(t, cfg, id, 2).stock()
		if err != nil || !slices.Equal(stock, []int64{1, 7}) {
			t.Errorf("stock after a restart %v, %v; want [1 7]", stock, err)
		}
	})
}

func TestOpenManyFoods(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		want := make([]int64, 10_001)
		for i := range want {
			want[i] = int64(i)
		}
		if stock, err := open(t, cfg, want...).stock(); err != nil || !slices.Equal(stock, want) {
			t.Errorf("stock of %d foods differs, %v", len(stock), err)
		}
	})
}

func TestOpenRefusesOtherFoods(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		opened, err := Open(t.Context(), cfg, Opening{Catalog: catalogPrint, Stock: []int64{1}})
		testkit.Must(t, err)
		_, err = Open(t.Context(), cfg, Opening{Catalog: "3 foods, fedcba9876543210", Stock: []int64{1}})
		want := "redis holds a sale of other foods: sale " + opened.Sale + " at " + cfg.Address +
			" has 2 foods, 0123456789abcdef; here are 3 foods, fedcba9876543210"
		if !errors.Is(err, ErrOtherFoods) || err.Error() != want {
			t.Errorf("error %v\nwant  %s", err, want)
		}
		if _, err := Find(t.Context(), cfg, "other foods", ""); !errors.Is(err, ErrOtherFoods) {
			t.Errorf("found: %v, want ErrOtherFoods", err)
		}
	})
}

// A Redis that is known to have held a sale is not given a new one.
func TestOpenRefusesLostSale(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		o := Opening{Catalog: catalogPrint, Stock: []int64{1}}
		first, err := Open(t.Context(), cfg, o)
		testkit.Must(t, err)
		o.Last = first.Sale
		if again, err := Open(t.Context(), cfg, o); err != nil || again.Sale != first.Sale || again.Fresh {
			t.Errorf("a restart: %+v, %v", again, err)
		}
		raw(t, cfg, nil, "FLUSHALL")
		if _, err := Open(t.Context(), cfg, o); !errors.Is(err, ErrSaleLost) {
			t.Errorf("a restart with the data lost: %v, want ErrSaleLost", err)
		}
		if n := rawString(t, cfg, "DBSIZE"); n != "0" {
			t.Errorf("%s keys were put into Redis", n)
		}
	})
}

// Where somebody has deleted the marker alone, the error names a command that puts it back.
func TestOpenWithoutMarker(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		o := Opening{Catalog: catalogPrint, Stock: []int64{5}}
		first, err := Open(t.Context(), cfg, o)
		testkit.Must(t, err)
		raw(t, cfg, nil, "DEL", MarkerKey)
		o.Last = first.Sale
		_, err = Open(t.Context(), cfg, o)
		want := fmt.Sprintf(`redis has lost the key sale; the stock of sale %s, which was served from %s, `+
			`is still there: if these foods are that sale's, put the key back as a closed sale with `+
			`HSET sale id %[1]s catalog %[3]q closed 1 state closed (and previous ID, the sale before it, if there `+
			`was one), then set its times and open it with flashsale sale open`,
			first.Sale, cfg.Address, catalogPrint)
		if !errors.Is(err, ErrMarkerLost) || err.Error() != want {
			t.Fatalf("\n got %v\nwant %s", err, want)
		}
		raw(t, cfg, nil, "HSET", MarkerKey, "id", first.Sale, "catalog", catalogPrint, "closed", "1",
			"state", "closed")
		if again, err := Open(t.Context(), cfg, o); err != nil || again.Sale != first.Sale || again.Fresh {
			t.Errorf("with the key: %+v, %v", again, err)
		}
		s := joinSale(t, cfg, first.Sale, 1)
		if now, err := s.Change(Change{}); err != nil || now.State != StateClosed {
			t.Errorf("with the key: %+v, %v; want closed", now, err)
		}
		if now, err := s.Change(Change{By: "terminal", State: StateOpen}); err != nil || now.State != StateOpen {
			t.Errorf("opened by hand: %+v, %v", now, err)
		}
	})
}

// A Redis that was emptied sells nothing; with its data back the sale goes on.
func TestSaleGoneAndBack(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 5)
		testkit.Must(t, s.addToCart(2, cartName(2), 1, 1))
		id := s.ID()
		raw(t, cfg, nil, "FLUSHALL")
		raw(t, cfg, nil, "SET", cartPrefix+string(cartName(2)), "1:1,")
		testkit.Wants(t, "order after FLUSHALL", s.placeOrder(2, cartName(2), nil), ErrSaleGone)
		testkit.Wants(t, "add after FLUSHALL", s.addToCart(2, cartName(2), 1, 1), ErrSaleGone)
		if _, err := s.Order(2); !errors.Is(err, ErrSaleGone) {
			t.Errorf("read after FLUSHALL: %v, want ErrSaleGone", err)
		}
		if n := rawString(t, cfg, "EXISTS", stockPrefix+id); n != "0" {
			t.Error("the stock was put into the emptied Redis")
		}
		raw(t, cfg, nil, "HSET", MarkerKey, "id", "otherone")
		testkit.Wants(t, "check with another sale's marker", s.Check(), ErrSaleGone)
		raw(t, cfg, nil, "HSET", MarkerKey, "id", id)
		testkit.Wants(t, "check with the marker and no stock", s.Check(), ErrSaleGone)
		raw(t, cfg, nil, "HSET", stockPrefix+id, "1", "5")
		testkit.Must(t, s.Check())
		testkit.Wants(t, "order after the sale came back", s.placeOrder(2, cartName(2), nil), nil)
	})
}

// A Redis with another sale in it is refused before the first call.
func TestReconnectToAnotherSale(t *testing.T) { onServers(t, testReconnectToAnotherSale) }

func testReconnectToAnotherSale(t *testing.T, server *redistest.Server, cfg Config) {
	log := testkit.CaptureLog(t)
	s := open(t, cfg, 5)
	raw(t, cfg, nil, "SET", orderPrefix+"2", "1:1,|\n1")
	server.Kill(t)
	server.Restart(t) // no AOF: it comes back empty
	raw(t, cfg, nil, "SET", orderPrefix+"2", "1:3,|\n1")
	raw(t, cfg, nil, "HSET", MarkerKey, "id", "otherone")
	for range 1000 {
		if _, err := s.Order(2); !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrSaleGone) {
			t.Fatalf("read from another sale: %v", err)
		}
	}
	testkit.Until(t, "the reason is logged", func() bool {
		return log.Count("Redis does not hold the sale: orders get 503 until it does") == 1
	})
	raw(t, cfg, nil, "HSET", s.home().keys.Stock, "1", "2")
	raw(t, cfg, nil, "HSET", MarkerKey, "id", s.ID())
	testkit.Until(t, "the sale is served again", func() bool {
		order, err := s.Order(2)
		return err == nil && slices.Equal(order.Items, []Item{{1, 3}})
	})
}

func TestSnapshot(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 5, 6)
		var latest atomic.Pointer[Snapshot]
		var gone atomic.Bool
		testkit.Background(t, func(ctx context.Context) error {
			s.Snapshots(ctx, time.Millisecond, func(found Snapshot) { latest.Store(&found) },
				func() { gone.Store(true) })
			return nil
		})
		shows := func(left ...int64) func() bool {
			return func() bool {
				found := latest.Load()
				return found != nil && slices.Equal(found.Left, left) && found.State == StateOpen
			}
		}
		testkit.Until(t, "the first snapshot", shows(5, 6))
		raw(t, cfg, nil, "HINCRBY", s.home().keys.Stock, "2", "-1")
		testkit.Until(t, "a snapshot with the change", shows(5, 5))
		raw(t, cfg, nil, "HSET", MarkerKey, "id", "otherone")
		testkit.Until(t, "a look that finds another sale", gone.Load)
	})
}

// Only an order that is placed counts: not one that is refused, and not the same one once more.
func TestPlacedOrdersAreCounted(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		cfg.Figures = figures.Private()
		s := open(t, cfg, 1, 5)
		for user := range uint32(2) {
			for range 2 {
				_ = s.addToCart(user+1, cartName(int(user)), 1, 1)
				_ = s.placeOrder(user+1, cartName(int(user)), []byte("k"))
			}
		}
		if n := cfg.Figures.OrdersPlaced.Value(); n != 1 {
			t.Errorf("%d orders are counted, want 1", n)
		}
		begin := time.Now()
		if _, err := s.stock(); err != nil {
			t.Fatal(err)
		}
		if read := time.Unix(0, cfg.Figures.StockRead.Value()); read.Before(begin) || read.After(time.Now()) {
			t.Errorf("the stock was read at %v, want from %v on", read, begin)
		}
		if cfg.Figures.Redis.BatchCalls.Read().Sum == 0 || cfg.Figures.QueueCallsMax.Value() == 0 {
			t.Error("the calls are not counted")
		}
	})
}

// A sale without users answers what Redis holds, and goes on once Redis is back.
func TestJoinWithoutUsers(t *testing.T) {
	server := redistest.New(t)
	cfg := unix(server)
	cfg.Quiet = true
	id := open(t, cfg, 3, 4).ID()
	s := runUnready(t, Join(cfg, id, 2, 0))
	testkit.Until(t, "a look", func() bool { _, err := s.Ready(); return err == nil })
	if stock, err := s.stock(); err != nil || !slices.Equal(stock, []int64{3, 4}) {
		t.Errorf("stock %v, %v; want 3 and 4", stock, err)
	}
	server.Do(t, "FLUSHALL")
	if _, err := s.Ready(); !errors.Is(err, ErrSaleGone) {
		t.Errorf("without the sale: %v, want ErrSaleGone", err)
	}
	server.Kill(t)
	if _, err := s.Ready(); !errors.Is(err, ErrUnavailable) {
		t.Errorf("without Redis: %v, want ErrUnavailable", err)
	}
	server.Restart(t)
	testkit.Until(t, "an answer", func() bool { _, err := s.Ready(); return errors.Is(err, ErrSaleGone) })
}
