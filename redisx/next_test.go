package redisx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/internal/logtest"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

const nextPrint = "3 foods, fedcba9876543210"

// nextOf is a next sale of three foods.
func nextOf(before string) Next {
	return Next{Before: before, Catalog: nextPrint, Stock: []int64{7, 8, 9}}
}

// sold opens a sale in which users 2 to 1+orders have bought a piece of food 1 each, and closes it.
func sold(t *testing.T, cfg Config, orders int) *Sale {
	t.Helper()
	s := open(t, cfg, int64(orders)+5, 5)
	for user := range uint32(orders) {
		if err := s.addToCart(user+2, cartName(int(user)), 1, 1); err != nil {
			t.Fatal(err)
		}
		if err := s.placeOrder(user+2, cartName(int(user)), fmt.Appendf(nil, "key%d", user)); err != nil {
			t.Fatal(err)
		}
	}
	closeSale(t, cfg)
	return s
}

// closeSale closes the sale by hand.
func closeSale(t *testing.T, cfg Config) {
	t.Helper()
	raw(t, cfg, nil, "HSET", saleKey, "closed", "1")
}

// exported notes an export of the sale, which must count.
func exported(t *testing.T, cfg Config, sale string, orders int) {
	t.Helper()
	e, err := BeginExport(t.Context(), cfg, sale)
	if err != nil {
		t.Fatal(err)
	}
	in := Exported{Orders: orders, Pieces: int64(orders), Start: startOf(t, cfg, sale), Prices: []int64{10, 20}}
	if counts, err := e.End(t.Context(), in); err != nil || !counts {
		t.Fatalf("the export counts: %v, %v", counts, err)
	}
}

// startOf is the number of pieces that a sale was opened with.
func startOf(t *testing.T, cfg Config, sale string) int64 {
	t.Helper()
	page, err := joinSale(t, cfg, sale, 2).ScanLog().Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return page[0].Pieces
}

// kept reads the orders of a sale that has ended.
func kept(t *testing.T, cfg Config, sale string, foods int) map[uint32][]Item {
	t.Helper()
	p, err := OpenPast(t.Context(), cfg, sale)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	orders := map[uint32][]Item{}
	for {
		page, err := p.Next(t.Context(), foods)
		if errors.Is(err, io.EOF) {
			return orders
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, order := range page {
			if _, twice := orders[order.User]; twice {
				t.Errorf("the order of user %d is read twice", order.User)
			}
			orders[order.User] = order.Items
		}
	}
}

// checkNext checks that Redis holds the next sale, untouched, beside the kept orders of the one before.
func checkNext(t *testing.T, cfg Config, before, next string, orders int) {
	t.Helper()
	opened, err := Open(t.Context(), cfg, Opening{Catalog: nextPrint, Stock: []int64{7, 8, 9}, Only: before})
	if err != nil || opened.Sale != next || opened.Fresh || !slices.Equal(opened.Previous, []string{before}) {
		t.Fatalf("a server of sale %s finds %+v, %v; want sale %s behind it", before, opened, err, next)
	}
	s := joinSale(t, cfg, next, 3)
	if stock, err := s.Stock(); err != nil || !slices.Equal(stock, []int64{7, 8, 9}) {
		t.Errorf("stock %v, %v", stock, err)
	}
	for _, pattern := range []string{"o_*", "c_*", "next_*", "gate_" + before, "stock_" + before} {
		var keys []string
		if raw(t, cfg, &keys, "KEYS", pattern); len(keys) > 0 {
			t.Errorf("keys of the sale before: %q", keys)
		}
	}
	got := kept(t, cfg, before, 2)
	want := map[uint32][]Item{}
	for user := range uint32(orders) {
		want[user+2] = []Item{{Food: 1, Count: 1}}
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%d orders are kept, want %d: %v", len(got), orders, got)
	}
	if left := rawString(t, cfg, "HGET", "left_"+before, "1"); left != "5" {
		t.Errorf("the kept stock of food 1 is %q, want 5", left)
	}
	// One order a user and each idempotency key start anew.
	if err := s.addToCart(2, []byte("a-cart-of-user-2"), 3, 1); err != nil {
		t.Error(err)
	}
	if err := s.placeOrder(2, []byte("a-cart-of-user-2"), []byte("key0")); err != nil {
		t.Errorf("an order in the next sale: %v", err)
	}
	if o, err := s.Order(2); err != nil || !slices.Equal(o.Items, []Item{{Food: 3, Count: 1}}) {
		t.Errorf("the order in the next sale: %v, %v", o, err)
	}
}

func TestOpenNext(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := sold(t, cfg, 3)
		if err := s.addToCart(9, []byte("an-open-cart-123"), 1, 1); err != nil {
			t.Fatal(err)
		}
		exported(t, cfg, s.ID(), 3)
		raw(t, cfg, nil, "SET", "o_x", "of another program")
		id, own, err := OpenNext(t.Context(), cfg, nextOf(s.ID()))
		if err != nil || !own || id == s.ID() {
			t.Fatalf("next sale %q, own %v, %v", id, own, err)
		}
		raw(t, cfg, nil, "DEL", "o_x")
		checkNext(t, cfg, s.ID(), id, 3)
		if err := s.placeOrder(50, cartName(50), nil); !errors.Is(err, ErrSaleGone) {
			t.Errorf("an order in the sale before: %v, want ErrSaleGone", err)
		}
		var prices []string
		if raw(t, cfg, &prices, "LRANGE", "prices_"+s.ID(), "0", "-1"); !slices.Equal(prices, []string{"10,20"}) {
			t.Errorf("kept prices %q", prices)
		}
	})
}

// What keeps the next sale from being opened, and what it needs not with Force.
func TestOpenNextRefusals(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		logtest.Keep(t)
		s := open(t, cfg, 5, 5)
		stream := openStream(t, cfg, s, "a")
		refused := func(want error) {
			t.Helper()
			if _, _, err := OpenNext(t.Context(), cfg, nextOf(s.ID())); !errors.Is(err, want) {
				t.Errorf("error %v, want %v", err, want)
			}
			if stock, err := s.Stock(); err != nil || len(stock) != 2 {
				t.Fatalf("the sale is not as it was: %v, %v", stock, err)
			}
		}
		if err := s.addToCart(2, cartName(2), 1, 1); err != nil {
			t.Fatal(err)
		}
		if err := s.placeOrder(2, cartName(2), nil); err != nil {
			t.Fatal(err)
		}
		if _, _, err := OpenNext(t.Context(), cfg, nextOf("other234")); !errors.Is(err, ErrSaleGone) {
			t.Errorf("behind a sale that is not there: %v", err)
		}
		refused(ErrNotClosed)
		future := strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10)
		raw(t, cfg, nil, "HSET", saleKey, "closes_at", future)
		refused(ErrNotClosed)
		raw(t, cfg, nil, "HSET", saleKey, "closes_at", "1000")
		refused(ErrNotExported)
		exported(t, cfg, s.ID(), 1)
		refused(ErrLedgerBehind)
		orders, err := stream.Read(false, 10)
		if err != nil || len(orders) != 1 || stream.Done(orders) != nil {
			t.Fatalf("%v, %v", orders, err)
		}
		refused(ErrLedgerBehind) // orders from before the ledger may be missing
		if err := stream.Filled(); err != nil {
			t.Fatal(err)
		}
		late := nextOf(s.ID())
		late.ClosesAt = moment("past")
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
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 5, 5)
		openStream(t, cfg, s, "a")
		for user := range uint32(2) {
			if err := s.addToCart(user+2, cartName(int(user)), 1, 1); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.placeOrder(2, cartName(0), nil); err != nil {
			t.Fatal(err)
		}
		next := nextOf(s.ID())
		next.Force, next.Delete = true, true
		id, own, err := OpenNext(t.Context(), cfg, next)
		if err != nil || !own {
			t.Fatalf("next sale %q, own %v, %v", id, own, err)
		}
		if _, err := OpenPast(t.Context(), cfg, s.ID()); !errors.Is(err, ErrNoPastSale) {
			t.Errorf("the deleted sale: %v, want ErrNoPastSale", err)
		}
		var keys []string
		raw(t, cfg, &keys, "KEYS", "*"+s.ID()+"*")
		if !slices.Equal(keys, []string{"orders_" + s.ID()}) { // it goes away by itself
			t.Errorf("keys of the deleted sale: %q", keys)
		}
		after := joinSale(t, cfg, id, 3)
		if err := after.addToCart(3, cartName(7), 2, 1); err != nil {
			t.Fatal(err)
		}
		if err := after.placeOrder(3, cartName(7), nil); err != nil {
			t.Fatal(err)
		}
		stream := openStream(t, cfg, after, "a")
		orders, err := stream.Read(false, 10)
		if err != nil || len(orders) != 1 || orders[0].User != 3 || stream.Filling() {
			t.Errorf("in the stream: %v, %v, filling %v; want the one order of user 3", orders, err,
				stream.Filling())
		}
	})
}

// A turnover that ends after any of its steps is completed by the next server that starts, or by another
// call, and nothing is sold before.
func TestTurnoverIsCompleted(t *testing.T) {
	const orders, crashes = 30, 4
	for steps := range crashes + 1 {
		for _, by := range []string{"server", "command"} {
			t.Run(fmt.Sprintf("after step %d by a %s", steps, by), func(t *testing.T) {
				onEach(t, func(t *testing.T, cfg Config) {
					s := sold(t, cfg, orders)
					exported(t, cfg, s.ID(), orders)
					next := crashed(t, cfg, s.ID(), steps)
					if err := s.placeOrder(50, cartName(50), nil); !errors.Is(err, ErrSaleGone) {
						t.Errorf("an order between two sales: %v, want ErrSaleGone", err)
					}
					if _, err := Find(t.Context(), cfg, nextPrint, ""); !errors.Is(err, ErrTurning) {
						t.Errorf("between two sales Find gives %v, want ErrTurning", err)
					}
					if by == "command" {
						id, own, err := OpenNext(t.Context(), cfg, nextOf(s.ID()))
						if err != nil || own || id != next {
							t.Errorf("another call: sale %s, own %v, %v; want %s of the first", id, own, err, next)
						}
					}
					checkNext(t, cfg, s.ID(), next, orders)
				})
			})
		}
	}
}

// crashed begins a turnover and ends after some steps, in the last of which some keys are moved and others
// are not. It returns the id of the next sale.
func crashed(t *testing.T, cfg Config, before string, steps int) string {
	t.Helper()
	l, err := pipeline.Dial(t.Context(), cfg.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	next, id := nextOf(before), newSaleID()
	if err := next.begin(l, cfg, id); err != nil {
		t.Fatal(err)
	}
	turnover, err := readTurnover(l, cfg)
	if err != nil || turnover == nil || turnover.next != id {
		t.Fatalf("turnover %+v, %v", turnover, err)
	}
	for step := range steps {
		user := strconv.Itoa(2 + step)
		if err := turnover.move([]string{"o_" + user}, []string{user}); err != nil {
			t.Fatal(err)
		}
	}
	return id
}

// A caller that was frozen in a turnover which others have completed moves nothing of the next sale.
func TestTurnoverIsOver(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := sold(t, cfg, 2)
		exported(t, cfg, s.ID(), 2)
		l, err := pipeline.Dial(t.Context(), cfg.Config)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		next := nextOf(s.ID())
		if err := next.begin(l, cfg, "frozen23"); err != nil {
			t.Fatal(err)
		}
		frozen, err := readTurnover(l, cfg)
		if err != nil {
			t.Fatal(err)
		}
		checkNext(t, cfg, s.ID(), "frozen23", 2) // places an order of user 2
		if err := frozen.move([]string{"o_2"}, []string{"2"}); err != nil || !frozen.moved {
			t.Errorf("moved by the frozen caller: %v, over %v", err, frozen.moved)
		}
		if err := frozen.open(); err != nil {
			t.Errorf("opened by the frozen caller: %v", err)
		}
		after := joinSale(t, cfg, "frozen23", 3)
		stock, err := after.Stock()
		if err != nil || !slices.Equal(stock, []int64{7, 8, 8}) {
			t.Errorf("stock of the next sale %v, %v; want one piece less", stock, err)
		}
		if o, err := after.Order(2); err != nil || len(o.Items) != 1 {
			t.Errorf("the order in the next sale: %v, %v", o, err)
		}
	})
}

// Of several calls at once one begins the turnover, and all end with the same sale.
func TestOpenNextAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		const callers = 4
		s := sold(t, cfg, 20)
		exported(t, cfg, s.ID(), 20)
		var calling sync.WaitGroup
		var ids [callers]string
		var own [callers]bool
		for i := range callers {
			calling.Go(func() {
				var err error
				ids[i], own[i], err = OpenNext(context.Background(), cfg, nextOf(s.ID()))
				// A call that comes when all is over finds another sale than the one that it is to end.
				if err != nil && !errors.Is(err, ErrSaleGone) {
					t.Error(err)
				}
			})
		}
		calling.Wait()
		begun := slices.Index(own[:], true)
		if begun < 0 || slices.Contains(own[begun+1:], true) {
			t.Fatalf("begun by %v, want one", own)
		}
		for _, id := range ids {
			if id != ids[begun] && id != "" {
				t.Errorf("sales %q, want one", ids)
			}
		}
		checkNext(t, cfg, s.ID(), ids[begun], 20)
	})
}

// A server that was down for several sales finds the last one.
func TestServerJoinsLaterSale(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		first := open(t, cfg, 5, 5).ID()
		last := first
		for range 3 {
			next := nextOf(last)
			next.Force = true
			var err error
			if last, _, err = OpenNext(t.Context(), cfg, next); err != nil {
				t.Fatal(err)
			}
		}
		o := Opening{Catalog: nextPrint, Only: first}
		opened, err := Open(t.Context(), cfg, o)
		if err != nil || opened.Sale != last || len(opened.Previous) != 3 || opened.Previous[2] != first {
			t.Errorf("joined %+v, %v; want %s, three sales behind %s", opened, err, last, first)
		}
		o.Only = "aaaaaaaa"
		if _, err := Open(t.Context(), cfg, o); !errors.Is(err, ErrOtherSale) {
			t.Errorf("a server of another Redis: %v, want ErrOtherSale", err)
		}
		if _, err := Find(t.Context(), cfg, nextPrint, first); !errors.Is(err, ErrOtherSale) {
			t.Errorf("Find of the first sale: %v, want ErrOtherSale", err)
		}
	})
}

// An export without an order does not count, nor does one after which a server of an older version, which knows no
// gate, has sold. Pieces that were restocked change nothing.
func TestExportHasAllPieces(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := sold(t, cfg, 3)
		if _, _, err := s.Restock(Restock{By: "root", Food: 2, Add: -2}); err != nil {
			t.Fatal(err)
		}
		e, err := BeginExport(t.Context(), cfg, s.ID())
		if err != nil {
			t.Fatal(err)
		}
		in := Exported{Orders: 2, Pieces: 2, Start: 13, Prices: []int64{10, 20}}
		counts, err := e.End(t.Context(), in)
		if !errors.Is(err, ErrOtherPieces) || counts || !strings.HasSuffix(err.Error(), ": 3 pieces sold, 2 in the export") {
			t.Errorf("an export without an order: %v, %v", counts, err)
		}
		refused := func(want error) {
			t.Helper()
			if _, _, err := OpenNext(t.Context(), cfg, nextOf(s.ID())); !errors.Is(err, want) {
				t.Errorf("error %v, want %v", err, want)
			}
		}
		refused(ErrNotExported)
		exported(t, cfg, s.ID(), 3)
		if _, _, err := s.Restock(Restock{By: "root", Food: 1, Add: 7}); err != nil {
			t.Fatal(err)
		}
		raw(t, cfg, nil, "HINCRBY", stockPrefix+s.ID(), "2", "-1")
		refused(ErrSoldSince)
		raw(t, cfg, nil, "HINCRBY", stockPrefix+s.ID(), "2", "1")
		if _, own, err := OpenNext(t.Context(), cfg, nextOf(s.ID())); err != nil || !own {
			t.Errorf("own %v, %v", own, err)
		}
	})
}

// A writer of the ledger of a sale that has ended changes nothing of the next one.
func TestFilledOfAnEndedSale(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 5, 5)
		stream := openStream(t, cfg, s, "a")
		next := nextOf(s.ID())
		next.Force = true
		if _, _, err := OpenNext(t.Context(), cfg, next); err != nil {
			t.Fatal(err)
		}
		raw(t, cfg, nil, "HSET", saleKey, "ledger", "filling")
		if err := stream.Filled(); !errors.Is(err, ErrSaleGone) || !stream.Filling() {
			t.Errorf("filled: %v, want ErrSaleGone", err)
		}
		if ledger := rawString(t, cfg, "HGET", saleKey, "ledger"); ledger != "filling" {
			t.Errorf("the ledger of the next sale is %s", ledger)
		}
	})
}

// An export counts when the sale was closed from its begin to its end.
func TestExportCounts(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 5, 5)
		count := func(between func(), want bool) {
			t.Helper()
			e, err := BeginExport(t.Context(), cfg, s.ID())
			if err != nil {
				t.Fatal(err)
			}
			between()
			if counts, err := e.End(t.Context(), Exported{Start: 10, Prices: []int64{1, 2}}); err != nil || counts != want {
				t.Errorf("the export counts: %v, %v; want %v", counts, err, want)
			}
			if there := rawString(t, cfg, "HEXISTS", saleKey, "exported"); there != flag(want) {
				t.Errorf("exported is in the marker: %s, want %s", there, flag(want))
			}
		}
		count(func() {}, false)
		count(func() { closeSale(t, cfg) }, false) // it was open when the export began
		change := func(state State) {
			t.Helper()
			if _, err := s.Change(Change{By: "root", State: state}); err != nil {
				t.Fatal(err)
			}
		}
		count(func() { change(StateOpen) }, false)
		change(StateClosed)
		count(func() { change(StateOpen); change(StateClosed) }, false)
		count(func() {
			if _, err := BeginExport(t.Context(), cfg, s.ID()); err != nil { // another one, which breaks off
				t.Fatal(err)
			}
		}, true)
		change(StateOpen)
		if there := rawString(t, cfg, "HEXISTS", saleKey, "exported"); there != "0" {
			t.Error("an export counts after the sale was opened again")
		}
		if _, err := BeginExport(t.Context(), cfg, "aaaaaaaa"); !errors.Is(err, ErrSaleGone) {
			t.Errorf("an export of a sale that is not there: %v", err)
		}
	})
}

// No step of a turnover gives Redis more keys than moveMax, however many orders there are.
func TestTurnoverStepsAreBounded(t *testing.T) {
	const orders = 200_000
	cfg := unix(redistest.New(t))
	cfg.Timeout = 20 * time.Second
	s := open(t, cfg, 5, 5)
	raw(t, cfg, nil, "EVAL", fmt.Sprintf(
		`for i = 2, %d do redis.call('SET', 'o_' .. i, '1:1,') end`, orders+1), "0")
	raw(t, cfg, nil, "CONFIG", "SET", "slowlog-log-slower-than", "0", "slowlog-max-len", "5000")
	raw(t, cfg, nil, "CONFIG", "RESETSTAT")
	next := nextOf(s.ID())
	next.Force = true
	if _, _, err := OpenNext(t.Context(), cfg, next); err != nil {
		t.Fatal(err)
	}
	var calls int
	_, stats, _ := strings.Cut(rawString(t, cfg, "INFO", "commandstats"), "cmdstat_eval:calls=")
	if _, err := fmt.Sscanf(stats, "%d,", &calls); err != nil || calls < orders/moveMax {
		t.Errorf("%d steps, %v; want at least %d", calls, err, orders/moveMax)
	}
	// The last steps, with the commands in them. Redis shows 31 arguments of a command, and how many more there
	// were. Those of EVAL: itself, source, number of keys, marker, kept orders, id, number of users, and each key
	// with its user beside it.
	var slow any
	raw(t, cfg, &slow, "SLOWLOG", "GET", "5000")
	most := 0
	for _, found := range regexp.MustCompile(`\((\d+) more arguments\)`).FindAllStringSubmatch(
		fmt.Sprintf("%s", slow), -1) {
		more, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, more+31)
	}
	if keys := (most - 7) / 2; keys > moveMax || keys < moveMax/10 {
		t.Errorf("the largest step has %d keys, want at most %d", keys, moveMax)
	}
	if n := rawString(t, cfg, "HLEN", "past_"+s.ID()); n != strconv.Itoa(orders) {
		t.Errorf("%s orders are kept, want %d", n, orders)
	}
}

func TestNumberTexts(t *testing.T) {
	cfg := unix(redistest.Start(t))
	l, err := pipeline.Dial(t.Context(), cfg.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, count := range []int{0, 1, numbersText, numbersText + 1, numbersText * (numbersPage + 1)} {
		list := make([]int64, count)
		for i := range list {
			list[i] = int64(i) * 1_000_000_000_000
		}
		raw(t, cfg, nil, "DEL", "numbers")
		if texts := numberTexts(list); len(texts) > 0 {
			raw(t, cfg, nil, append([]string{"RPUSH", "numbers"}, texts...)...)
		}
		got, err := readNumbers(l, "numbers", cfg.Timeout)
		if err != nil || !slices.Equal(got, list) {
			t.Errorf("%d numbers: %d are read, %v", count, len(got), err)
		}
	}
	raw(t, cfg, nil, "RPUSH", "numbers", "1,x")
	if _, err := readNumbers(l, "numbers", cfg.Timeout); err == nil || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("a text that is no number: %v", err)
	}
}
