package turnover

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/held"
	"flashsale/redisx/saletest"
)

// While orders are held an export does not count, and the next sale is refused and names how many and until
// when. By force they are released first. The next sale keeps the hold of the sale before.
func TestNextSaleWithHeldOrders(t *testing.T) {
	saletest.OnSlices(t, func(t *testing.T, cfg redisx.Config) {
		cfg.Hold = time.Hour
		s := saletest.Open(t, cfg, 9, 9)
		s.Buy(t, 2, 3, 4)
		export := func() (counts bool, err error) {
			e, err := BeginExport(t.Context(), cfg, s.ID())
			testkit.Must(t, err)
			return e.End(t.Context(), Exported{Orders: 3, Pieces: 3, Start: 18, Prices: []int64{1, 2}})
		}
		_, _, err := OpenNext(t.Context(), cfg, nextOf(s.ID()))
		if !errors.Is(err, ErrNotClosed) {
			t.Errorf("the next sale while this one is open: %v, want ErrNotClosed", err)
		}
		closeSale(t, s)
		if counts, err := export(); counts || !errors.Is(err, ErrHeld) {
			t.Errorf("the export counts: %v, %v; want ErrHeld", counts, err)
		}
		_, _, err = OpenNext(t.Context(), cfg, nextOf(s.ID()))
		if !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), ": 3, the last one until 20") {
			t.Errorf("the next sale: %v, want ErrHeld with how many and until when", err)
		}
		next := nextOf(s.ID())
		next.Force = true
		if _, own, err := OpenNext(t.Context(), cfg, next); err != nil || !own {
			t.Fatalf("the next sale by force: own %v, %v", own, err)
		}
		for slice := range cfg.SliceCount() {
			k := cfg.KeysOf(s.ID(), slice)
			if n := saletest.Text(t, cfg, "ZCARD", k.Holds); n != "0" {
				t.Errorf("slice %d: %s orders are still held", slice, n)
			}
			left := saletest.Text(t, cfg, "HGET", "left_"+s.ID()+k.Tag, "orders")
			if left != "0" && left != "" {
				t.Errorf("slice %d: %s orders are counted", slice, left)
			}
		}
		slice := cfg.SliceOf(2)
		former := saletest.Text(t, cfg, "HGET", cfg.KeysOf(s.ID(), slice).Released, "2-0")
		o, err := redisx.ParseOrder(2, []byte(former), 2)
		if err != nil || o.Hold.State != redisx.Released || o.Hold.Reason != held.Ended {
			t.Errorf("the order of user 2: %+v, %v; want it released", o.Hold, err)
		}
		marker, err := redisx.ReadMarker(t.Context(), cfg)
		if err != nil || marker.Hold != time.Hour {
			t.Errorf("the next sale holds orders for %v, %v; want an hour", marker.Hold, err)
		}
	})
}

// What happens late to orders of a sale that has ended is noted and told, whatever the next sale has of the
// same users: a second payment, one for an order that was given back, one for an order that is not kept, and
// the cancellation of paid orders.
func TestLateInEndedSale(t *testing.T) { saletest.OnSlices(t, lateInEndedSale) }

func TestLateInEndedSaleInCluster(t *testing.T) { saletest.OnCluster(t, lateInEndedSale) }

func lateInEndedSale(t *testing.T, cfg redisx.Config) {
	cfg.Hold = time.Hour
	s := saletest.Open(t, cfg, 9, 9)
	s.Buy(t, 2, 3, 4)
	orders := held.New(cfg, s.ID(), 2)
	testkit.Background(t, orders.Run)
	testkit.Until(t, "connections", orders.Up)
	pay := func(user uint32, payment string, amount int64) {
		t.Helper()
		id := held.ID{User: user}
		order, err := orders.Find(id)
		testkit.Must(t, err)
		settled, err := orders.Paid(id, held.Receipt{Payment: payment, Amount: amount, Items: order.Items,
			Price: amount})
		if err != nil || settled != held.SettledPaid {
			t.Fatalf("payment %s: %v, %v", payment, settled, err)
		}
	}
	pay(2, "p2", 10)
	_, _, err := orders.Cancel(held.ID{User: 3}, "", held.ByBuyer)
	testkit.Must(t, err)
	pay(4, "free-4", 0)
	exportAgain(t, cfg, s, orders)
	_, err = orders.Of(s.ID()).CancelAfter(held.ID{User: 9}, "ann", "spoilt")
	if !errors.Is(err, held.ErrNone) {
		t.Errorf("an unknown order: %v", err)
	}
	_, err = orders.CancelAfter(held.ID{User: 2}, "ann", "spoilt")
	if !errors.Is(err, redisx.ErrUnavailable) {
		t.Errorf("a sale that goes on: %v", err)
	}
	next := nextOf(s.ID())
	id, _, err := OpenNext(t.Context(), cfg, next)
	testkit.Must(t, err)
	saletest.Join(t, cfg, id, 2).Buy(t, 2, 3, 4)

	late := func(user uint32, payment string, want held.Settlement) {
		t.Helper()
		settled, err := orders.PaidAfter(held.ID{User: user}, held.Receipt{Payment: payment, Amount: 7})
		if err != nil || settled != want {
			t.Errorf("payment %s of user %d: %v, %v; want %v", payment, user, settled, err, want)
		}
	}
	late(2, "late2", held.SettledRefund)
	late(2, "late2", held.SettledBefore)
	_, err = orders.PaidAfter(held.ID{User: 2, Number: 1}, held.Receipt{Payment: "late2", Amount: 7})
	if !errors.Is(err, held.ErrNone) {
		t.Errorf("the payment of another order: %v", err)
	}
	late(3, "late3", held.SettledRefund)
	late(5, "late5", held.SettledUnknown)
	cancel := func(user uint32, want held.Owed, wantErr error) {
		t.Helper()
		owed, err := orders.CancelAfter(held.ID{User: user}, "ann", "spoilt")
		if !errors.Is(err, wantErr) || owed != want {
			t.Errorf("cancelled order of user %d: %v, %v; want %v, %v", user, owed, err, want, wantErr)
		}
	}
	cancel(2, held.Owed{Payment: "p2", Amount: 10}, nil)
	cancel(2, held.Owed{}, held.ErrNone)
	cancel(3, held.Owed{}, held.ErrNone)
	cancel(4, held.Owed{}, nil)
	for payment, user := range map[string]uint32{"p2": 2, "late3": 3, "late5": 5} {
		testkit.Must(t, orders.Refunded(held.ID{User: user}, payment))
	}

	told, logged := lateEvents(t, cfg, s.ID())
	for user, want := range map[string]string{
		"2": "1 held, 2 paid, 3 refund_due twice, 4 refund_due spoilt, 5 refunded",
		"3": "1 held, 2 released buyer, 3 refund_due cancelled, 4 refund_due closed, 5 refunded",
		"4": "1 held, 2 paid, 3 released spoilt",
		"5": " refund_due unknown order,  refunded",
	} {
		if got := strings.Join(told[user], ", "); got != want {
			t.Errorf("events of user %s:\n got %s\nwant %s", user, got, want)
		}
	}
	if logged != 2 {
		t.Errorf("%d corrections in the log, want 2", logged)
	}
	for user, want := range map[uint32]string{2: "refunded spoilt", 3: "refund_due cancelled",
		4: "released spoilt", 5: " "} {
		order, err := orders.FindAfter(held.ID{User: user})
		testkit.Must(t, err)
		if got := fmt.Sprint(order.Hold.State, " ", order.Hold.Reason); got != want {
			t.Errorf("the order of user %d is %s, want %s", user, got, want)
		}
		k := cfg.KeysOf(id, cfg.SliceOf(user))
		now := saletest.Text(t, cfg, "GET", k.Order(user))
		if user < 5 && !strings.Contains(now, "\nheld 0 1 ") {
			t.Errorf("the order of user %d in the next sale has changed: %q", user, now)
		}
	}
	past, err := OpenPast(t.Context(), cfg, s.ID())
	testkit.Must(t, err)
	past.Close()
}

// lateEvents returns the events of a sale by user: "seq what reason", and how many corrections were logged.
// Its streams must stay.
func lateEvents(t *testing.T, cfg redisx.Config, sale string) (told map[string][]string, logged int) {
	t.Helper()
	told = map[string][]string{}
	for slice := range cfg.SliceCount() {
		k := cfg.KeysOf(sale, slice)
		var entries, log []radix.StreamEntry
		saletest.Command(t, cfg, &entries, "XRANGE", k.Events, "-", "+")
		saletest.Command(t, cfg, &log, "XRANGE", k.Log, "-", "+")
		for _, e := range entries {
			f := map[string]string{}
			for _, field := range e.Fields {
				f[field[0]] = field[1]
			}
			text := strings.TrimSuffix(fmt.Sprintf("%s %s %s", f["seq"], f["what"], f["reason"]), " ")
			told[f["user"]] = append(told[f["user"]], text)
		}
		for _, e := range log {
			if slices.Contains(e.Fields, [2]string{"what", "order"}) {
				logged++
			}
		}
		if ttl := cmp.Or(saletest.Text(t, cfg, "TTL", k.Events), "-1"); len(entries) > 0 && ttl != "-1" {
			t.Errorf("slice %d: the stream expires in %s s", slice, ttl)
		}
	}
	return told, logged
}

// exportAgain closes the sale and exports it; a refund after that asks for another export.
func exportAgain(t *testing.T, cfg redisx.Config, s saletest.Sale, orders *held.Orders) {
	t.Helper()
	closeSale(t, s)
	export := func() {
		t.Helper()
		e, err := BeginExport(t.Context(), cfg, s.ID())
		testkit.Must(t, err)
		counts, err := e.End(t.Context(), Exported{Orders: 2, Pieces: 2, Start: 18, Prices: []int64{1, 2}})
		if err != nil || !counts {
			t.Errorf("the export counts: %v, %v", counts, err)
		}
		if is, err := IsExported(t.Context(), cfg, s.ID()); err != nil || !is {
			t.Errorf("exported: %v, %v", is, err)
		}
	}
	export()
	settled, err := orders.Paid(held.ID{User: 3}, held.Receipt{Payment: "late", Amount: 9,
		Items: []redisx.Item{{Food: 1, Count: 1}}, Price: 9})
	if err != nil || settled != held.SettledRefund {
		t.Errorf("a late payment: %v, %v", settled, err)
	}
	if is, err := IsExported(t.Context(), cfg, s.ID()); err != nil || is {
		t.Errorf("exported before the last change: %v, %v", is, err)
	}
	if _, _, err := OpenNext(t.Context(), cfg, nextOf(s.ID())); !errors.Is(err, ErrNotExported) {
		t.Errorf("the next sale: %v, want %v", err, ErrNotExported)
	}
	export()
}
