package redisx

import (
	"errors"
	"testing"
)

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
			if counts, err := e.End(t.Context(), 0, []int64{1, 2}); err != nil || counts != want {
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
