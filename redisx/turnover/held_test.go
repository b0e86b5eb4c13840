package turnover

import (
	"errors"
	"strings"
	"testing"
	"time"

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
