package turnover

import (
	"errors"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/saletest"
)

// An export counts when the sale was closed from its begin to its end.
func TestExportCounts(t *testing.T) {
	saletest.OnSlices(t, func(t *testing.T, cfg redisx.Config) {
		s := saletest.Open(t, cfg, 5, 5)
		in := Exported{Start: 10, Prices: []int64{1, 2}}
		count := func(between func(), want bool) {
			t.Helper()
			e, err := BeginExport(t.Context(), cfg, s.ID())
			testkit.Must(t, err)
			between()
			if counts, err := e.End(t.Context(), in); err != nil || counts != want {
				t.Errorf("the export counts: %v, %v; want %v", counts, err, want)
			}
			there := saletest.Text(t, cfg, "HEXISTS", redisx.MarkerKey, "exported")
			if (there == "1") != want {
				t.Errorf("exported is in the marker: %s, want %v", there, want)
			}
		}
		count(func() {}, false)
		count(func() { closeSale(t, s) }, false) // it was open when the export began
		change := func(state redisx.State) {
			t.Helper()
			if _, err := s.Change(redisx.Change{By: "root", State: state}); err != nil {
				t.Fatal(err)
			}
		}
		count(func() { change(redisx.StateOpen) }, false)
		change(redisx.StateClosed)
		count(func() { change(redisx.StateOpen); change(redisx.StateClosed) }, false)
		count(func() {
			if _, err := BeginExport(t.Context(), cfg, s.ID()); err != nil { // another one, which breaks off
				t.Fatal(err)
			}
		}, true)
		change(redisx.StateOpen)
		if there := saletest.Text(t, cfg, "HEXISTS", redisx.MarkerKey, "exported"); there != "0" {
			t.Error("an export counts after the sale was opened again")
		}
		if _, err := BeginExport(t.Context(), cfg, "aaaaaaaa"); !errors.Is(err, redisx.ErrSaleGone) {
			t.Errorf("an export of a sale that is not there: %v", err)
		}
	})
}

// An export without an order does not count. Pieces that were restocked change nothing.
func TestExportHasAllPieces(t *testing.T) {
	saletest.OnSlices(t, func(t *testing.T, cfg redisx.Config) {
		s := sold(t, cfg, 3)
		if _, _, err := s.Restock(redisx.Restock{By: "root", Food: 2, Add: -2}); err != nil {
			t.Fatal(err)
		}
		e, err := BeginExport(t.Context(), cfg, s.ID())
		testkit.Must(t, err)
		in := Exported{Orders: 2, Pieces: 2, Start: 13, Prices: []int64{10, 20}}
		counts, err := e.End(t.Context(), in)
		const want = ": 3 pieces sold, 2 in the export"
		if !errors.Is(err, ErrOtherPieces) || counts || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("an export without an order: %v, %v", counts, err)
		}
		if _, _, err := OpenNext(t.Context(), cfg, nextOf(s.ID())); !errors.Is(err, ErrNotExported) {
			t.Errorf("behind an export without an order: %v, want ErrNotExported", err)
		}
		exported(t, cfg, s.ID(), 3)
		if _, _, err := s.Restock(redisx.Restock{By: "root", Food: 1, Add: 7}); err != nil {
			t.Fatal(err)
		}
		if _, own, err := OpenNext(t.Context(), cfg, nextOf(s.ID())); err != nil || !own {
			t.Errorf("own %v, %v", own, err)
		}
	})
}
