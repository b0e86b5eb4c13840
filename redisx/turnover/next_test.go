package turnover

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/orderstream"
	"flashsale/redisx/saletest"
)

const nextPrint = "3 foods, fedcba9876543210"

// nextOf is a next sale of three foods.
func nextOf(before string) Next {
	return Next{Before: before, Catalog: nextPrint, Stock: []int64{7, 8, 9}}
}

// sold opens a sale in which users 2 to 1+orders have bought a piece of food 1 each, and closes it.
func sold(t *testing.T, cfg redisx.Config, orders int) saletest.Sale {
	t.Helper()
	s := saletest.Open(t, cfg, int64(orders)+5, 5)
	for user := range orders {
		s.Buy(t, user+2)
	}
	closeSale(t, s)
	return s
}

// openStreams switches the ledger of the sale on, in all slices.
func openStreams(t *testing.T, cfg redisx.Config, s saletest.Sale) (streams []*orderstream.Stream) {
	t.Helper()
	for slice := range cfg.SliceCount() {
		opened, err := orderstream.Open(t.Context(), cfg, s.ID(), slice, 3, "a")
		testkit.Must(t, err)
		t.Cleanup(opened.Close)
		streams = append(streams, opened)
	}
	return streams
}

// read takes all orders from the streams.
func read(t *testing.T, streams []*orderstream.Stream) (users []uint32) {
	t.Helper()
	for _, stream := range streams {
		orders, err := stream.Read(false, 10)
		testkit.Must(t, err)
		testkit.Must(t, stream.Done(orders))
		for _, order := range orders {
			users = append(users, order.User)
		}
	}
	return users
}

// closeSale closes the sale.
func closeSale(t *testing.T, s saletest.Sale) {
	t.Helper()
	_, err := s.Change(redisx.Change{By: "root", State: redisx.StateClosed})
	testkit.Must(t, err)
}

// exported notes an export of the sale, which must count.
func exported(t *testing.T, cfg redisx.Config, sale string, orders int) {
	t.Helper()
	e, err := BeginExport(t.Context(), cfg, sale)
	testkit.Must(t, err)
	in := Exported{Orders: orders, Pieces: int64(orders), Start: startOf(t, cfg, sale), Prices: []int64{10, 20}}
	if counts, err := e.End(t.Context(), in); err != nil || !counts {
		t.Fatalf("the export counts: %v, %v", counts, err)
	}
}

// startOf is the number of pieces that a sale was opened with.
func startOf(t *testing.T, cfg redisx.Config, sale string) int64 {
	t.Helper()
	page, err := saletest.Join(t, cfg, sale, 2).ScanLog().Next(t.Context())
	testkit.Must(t, err)
	return page[0].Pieces
}

// kept reads the orders of a sale that has ended.
func kept(t *testing.T, cfg redisx.Config, sale string, foods int) map[uint32][]redisx.Item {
	t.Helper()
	p, err := OpenPast(t.Context(), cfg, sale)
	testkit.Must(t, err)
	defer p.Close()
	orders := map[uint32][]redisx.Item{}
	for {
		page, err := p.Next(t.Context(), foods)
		if errors.Is(err, io.EOF) {
			return orders
		}
		testkit.Must(t, err)
		for _, order := range page {
			if _, twice := orders[order.User]; twice {
				t.Errorf("the order of user %d is read twice", order.User)
			}
			orders[order.User] = order.Items
		}
	}
}

// checkNext checks that Redis holds the next sale, untouched, beside the kept orders of the one before.
func checkNext(t *testing.T, cfg redisx.Config, before, next string, orders int) {
	t.Helper()
	o := redisx.Opening{Catalog: nextPrint, Stock: []int64{7, 8, 9}, Only: before}
	opened, err := Open(t.Context(), cfg, o)
	if err != nil || opened.Sale != next || opened.Fresh || !slices.Equal(opened.Previous, []string{before}) {
		t.Fatalf("a server of sale %s finds %+v, %v; want sale %s behind it", before, opened, err, next)
	}
	s := saletest.Join(t, cfg, next, 3)
	if stock, err := s.Stock(); err != nil || !slices.Equal(stock, []int64{7, 8, 9}) {
		t.Errorf("stock %v, %v", stock, err)
	}
	for _, pattern := range []string{"o_*", "c_*", "next_*", "gate_" + before + "*", "stock_" + before + "*"} {
		var keys []string
		if saletest.Command(t, cfg, &keys, "KEYS", pattern); len(keys) > 0 {
			t.Errorf("keys of the sale before: %q", keys)
		}
	}
	got := kept(t, cfg, before, 2)
	want := map[uint32][]redisx.Item{}
	for user := range uint32(orders) {
		want[user+2] = []redisx.Item{{Food: 1, Count: 1}}
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%d orders are kept, want %d: %v", len(got), orders, got)
	}
	left := 0
	for slice := range cfg.SliceCount() {
		part, err := strconv.Atoi(saletest.Text(t, cfg, "HGET", "left_"+before+cfg.KeysOf(before, slice).Tag, "1"))
		testkit.Must(t, err)
		left += part
	}
	if left != 5 {
		t.Errorf("the kept stock of food 1 is %d, want 5", left)
	}
	// One order a user and each idempotency key start anew.
	if err := s.AddToCart(2, []byte("a-cart-of-user-2"), 3, 1); err != nil {
		t.Error(err)
	}
	if err := s.PlaceOrder(2, []byte("a-cart-of-user-2"), []byte("key")); err != nil {
		t.Errorf("an order in the next sale: %v", err)
	}
	if o, err := s.Order(2); err != nil || !slices.Equal(o.Items, []redisx.Item{{Food: 3, Count: 1}}) {
		t.Errorf("the order in the next sale: %v, %v", o, err)
	}
}

func TestOpenNext(t *testing.T) { saletest.OnSlices(t, openNext) }

func TestOpenNextInCluster(t *testing.T) { saletest.OnCluster(t, openNext) }

func openNext(t *testing.T, cfg redisx.Config) {
	s := sold(t, cfg, 3)
	testkit.Must(t, s.AddToCart(9, []byte("an-open-cart-123"), 1, 1))
	exported(t, cfg, s.ID(), 3)
	saletest.Command(t, cfg, nil, "SET", "o_x", "of another program")
	id, own, err := OpenNext(t.Context(), cfg, nextOf(s.ID()))
	if err != nil || !own || id == s.ID() {
		t.Fatalf("next sale %q, own %v, %v", id, own, err)
	}
	saletest.Command(t, cfg, nil, "DEL", "o_x")
	checkNext(t, cfg, s.ID(), id, 3)
	err = s.PlaceOrder(50, saletest.CartName(50), nil)
	testkit.Wants(t, "an order in the sale before", err, redisx.ErrSaleGone)
	var prices []string
	saletest.Command(t, cfg, &prices, "LRANGE", "prices_"+s.ID()+cfg.KeysOf(s.ID(), 0).Tag, "0", "-1")
	if !slices.Equal(prices, []string{"10,20"}) {
		t.Errorf("kept prices %q", prices)
	}
}

// What keeps the next sale from being opened, and what it needs not with Force.
func TestOpenNextRefusals(t *testing.T) {
	saletest.OnSlices(t, func(t *testing.T, cfg redisx.Config) {
		testkit.KeepLog(t)
		s := saletest.Open(t, cfg, 5, 5)
		streams := openStreams(t, cfg, s)
		refused := func(want error) {
			t.Helper()
			if _, _, err := OpenNext(t.Context(), cfg, nextOf(s.ID())); !errors.Is(err, want) {
				t.Errorf("error %v, want %v", err, want)
			}
			if stock, err := s.Stock(); err != nil || len(stock) != 2 {
				t.Fatalf("the sale is not as it was: %v, %v", stock, err)
			}
		}
		s.Buy(t, 2)
		if _, _, err := OpenNext(t.Context(), cfg, nextOf("other234")); !errors.Is(err, redisx.ErrSaleGone) {
			t.Errorf("behind a sale that is not there: %v", err)
		}
		refused(ErrNotClosed)
		future := strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10)
		saletest.Command(t, cfg, nil, "HSET", redisx.MarkerKey, "closes_at", future)
		refused(ErrNotClosed)
		saletest.Command(t, cfg, nil, "HSET", redisx.MarkerKey, "closes_at", "1000")
		refused(ErrNotExported)
		exported(t, cfg, s.ID(), 1)
		refused(ErrLedgerBehind)
		if users := read(t, streams); !slices.Equal(users, []uint32{2}) {
			t.Fatalf("in the streams: %v", users)
		}
		for _, stream := range streams {
			refused(ErrLedgerBehind) // orders from before the ledger may be missing
			testkit.Must(t, stream.Filled())
		}
		late := nextOf(s.ID())
		late.ClosesAt = time.Now().Add(-time.Hour)
		if _, _, err := OpenNext(t.Context(), cfg, late); !errors.Is(err, ErrOverAlready) {
			t.Errorf("a next sale that is over: %v, want ErrOverAlready", err)
		}
		if id, own, err := OpenNext(t.Context(), cfg, nextOf(s.ID())); err != nil || !own || id == "" {
			t.Errorf("next sale %q, own %v, %v", id, own, err)
		}
	})
}

// By force a sale ends that is open, is not exported, and is not in the ledger; the next one keeps a ledger
// from its first order on.
func TestOpenNextByForce(t *testing.T) {
	saletest.OnSlices(t, func(t *testing.T, cfg redisx.Config) {
		s := saletest.Open(t, cfg, 5, 5)
		openStreams(t, cfg, s)
		s.Buy(t, 2)
		testkit.Must(t, s.AddToCart(3, saletest.CartName(3), 1, 1))
		saletest.Command(t, cfg, nil, "HSET", cfg.KeysOf(s.ID(), 0).Used, "coupons", "1")
		next := nextOf(s.ID())
		next.Force, next.Delete = true, true
		id, own, err := OpenNext(t.Context(), cfg, next)
		if err != nil || !own {
			t.Fatalf("next sale %q, own %v, %v", id, own, err)
		}
		if _, err := OpenPast(t.Context(), cfg, s.ID()); !errors.Is(err, ErrNoPastSale) {
			t.Errorf("the deleted sale: %v, want ErrNoPastSale", err)
		}
		var keys, want []string
		saletest.Command(t, cfg, &keys, "KEYS", "*"+s.ID()+"*")
		// The log stays for ever. The streams go away by themselves.
		for slice := range cfg.SliceCount() {
			want = append(want, cfg.KeysOf(s.ID(), slice).Stream)
		}
		want = append(want, cfg.KeysOf(s.ID(), 0).Log)
		slices.Sort(keys)
		if slices.Sort(want); !slices.Equal(keys, want) {
			t.Errorf("keys of the deleted sale: %q, want %q", keys, want)
		}
		if n := saletest.Text(t, cfg, "XLEN", cfg.KeysOf(s.ID(), 0).Log); n != "2" { // opened, closed
			t.Errorf("%s entries in its log, want 2", n)
		}
		after := saletest.Join(t, cfg, id, 3)
		after.Buy(t, 3)
		streams := openStreams(t, cfg, after)
		filling := slices.ContainsFunc(streams, (*orderstream.Stream).Filling)
		if users := read(t, streams); !slices.Equal(users, []uint32{3}) || filling {
			t.Errorf("in the streams: %v, filling %v; want the one order of user 3", users, filling)
		}
	})
}

// A server that was down for several sales finds the last one.
func TestServerJoinsLaterSale(t *testing.T) {
	saletest.OnSlices(t, func(t *testing.T, cfg redisx.Config) {
		first := saletest.Open(t, cfg, 5, 5).ID()
		last := first
		for range 3 {
			next := nextOf(last)
			next.Force = true
			var err error
			if last, _, err = OpenNext(t.Context(), cfg, next); err != nil {
				t.Fatal(err)
			}
		}
		o := redisx.Opening{Catalog: nextPrint, Only: first}
		opened, err := Open(t.Context(), cfg, o)
		if err != nil || opened.Sale != last || len(opened.Previous) != 3 || opened.Previous[2] != first {
			t.Errorf("joined %+v, %v; want %s, three sales behind %s", opened, err, last, first)
		}
		o.Only = "aaaaaaaa"
		if _, err := Open(t.Context(), cfg, o); !errors.Is(err, redisx.ErrOtherSale) {
			t.Errorf("a server of another Redis: %v, want redisx.ErrOtherSale", err)
		}
		if _, err := redisx.Find(t.Context(), cfg, nextPrint, first); !errors.Is(err, redisx.ErrOtherSale) {
			t.Errorf("Find of the first sale: %v, want redisx.ErrOtherSale", err)
		}
	})
}
