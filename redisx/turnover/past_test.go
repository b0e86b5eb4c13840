package turnover

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/redistest"
	"flashsale/redisx/saletest"
)

// A past sale is read with the orders of all slices, or not at all.
func TestPastSaleIsWhole(t *testing.T) {
	const orders, lost = 12, 1 // the slice
	cfg := saletest.Config(redistest.Start(t))
	cfg.Slices = 3
	s := sold(t, cfg, orders)
	exported(t, cfg, s.ID(), orders)
	_, _, err := OpenNext(t.Context(), cfg, nextOf(s.ID()))
	testkit.Must(t, err)
	if got := kept(t, cfg, s.ID(), 2); len(got) != orders {
		t.Fatalf("%d of %d orders are kept", len(got), orders)
	}
	past, err := OpenPast(t.Context(), cfg, s.ID())
	testkit.Must(t, err)
	defer past.Close()
	for user, items := range kept(t, cfg, s.ID(), 2) {
		got, err := past.Order(t.Context(), user, 2)
		if err != nil || got.User != user || got.Placed.IsZero() || !slices.Equal(got.Items, items) {
			t.Errorf("the order of user %d is %+v, %v, want %v", user, got, err, items)
		}
	}
	if none, err := past.Order(t.Context(), 999, 2); err != nil || len(none.Items) > 0 {
		t.Errorf("the order of nobody is %+v, %v", none, err)
	}
	k := cfg.KeysOf(s.ID(), lost)
	refused := func(name string, cfg redisx.Config, want error) {
		t.Helper()
		_, err := OpenPast(t.Context(), cfg, s.ID())
		if !errors.Is(err, want) || !strings.Contains(err.Error(), "slice "+k.Tag+" of sale "+s.ID()+" in Redis") {
			t.Errorf("%s: %v, want %v and slice %s", name, err, want, k.Tag)
		}
	}
	away := cfg
	away.Address += "," + cfg.Address + ".away," + cfg.Address
	refused("away", away, fs.ErrNotExist)
	var users []string
	saletest.Command(t, cfg, &users, "HKEYS", k.Past)
	saletest.Command(t, cfg, nil, "HDEL", k.Past, users[0])
	refused("without an order", cfg, ErrIncomplete)
	saletest.Command(t, cfg, nil, "DEL", k.Past, keptStockPrefix+s.ID()+k.Tag)
	refused("without its data", cfg, ErrIncomplete)
}
