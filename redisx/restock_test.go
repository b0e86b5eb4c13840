package redisx

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// Each line: stock before, restocks, outcome, and what is left.
func TestRestock(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 5, 7)
		for _, tc := range []struct {
			food, add     int64
			key           string
			want          error
			food2, left   int64
			stock, change []int64
		}{
			{1, 3, "", nil, 1, 8, []int64{8, 7}, []int64{3, 0}},
			{1, -8, "k", nil, 1, 0, []int64{0, 7}, []int64{-5, 0}},
			{1, -1, "", ErrOutOfStock, 1, 0, []int64{0, 7}, []int64{-5, 0}},
			{1, -8, "k", nil, 1, 0, []int64{0, 7}, []int64{-5, 0}},
			{2, -8, "k", ErrKeyReused, 0, 0, []int64{0, 7}, []int64{-5, 0}},
			{1, 8, "k", ErrKeyReused, 0, 0, []int64{0, 7}, []int64{-5, 0}},
			{2, -8, "l", ErrOutOfStock, 2, 7, []int64{0, 7}, []int64{-5, 0}},
			{2, RestockMax, "l", nil, 2, RestockMax + 7, []int64{0, RestockMax + 7}, []int64{-5, RestockMax}},
		} {
			food, left, err := s.Restock(Restock{By: "root", Food: tc.food, Add: tc.add, Key: tc.key})
			if !errors.Is(err, tc.want) || food != tc.food2 || left != tc.left {
				t.Errorf("%d of food %d, key %q: food %d, %d left, %v", tc.add, tc.food, tc.key, food, left, err)
			}
			found, err := s.Snapshot()
			if err != nil || !slices.Equal(found.Left, tc.stock) || !slices.Equal(found.Restocked, tc.change) {
				t.Errorf("then %+v, %v; want %v, restocked %v", found, err, tc.stock, tc.change)
			}
		}
		const want = "terminal opened 12 {} {}, root stock 1: 5+3=8, root stock 1: 8-8=0, " +
			"root stock 2: 7+1000000000=1000000007"
		if log := logOf(t, s); log != want {
			t.Errorf("log %s\nwant %s", log, want)
		}
		ttl := rawString(t, cfg, "TTL", restockPrefix+s.ID()+"_k")
		if day := int(restockRemembered / time.Second); ttl != fmt.Sprint(day) && ttl != fmt.Sprint(day-1) {
			t.Errorf("the key counts for %s s more, want %d", ttl, day)
		}
		raw(t, cfg, nil, "HDEL", MarkerKey, "id")
		if _, _, err := s.Restock(Restock{By: "root", Food: 1, Add: 1}); !errors.Is(err, ErrSaleGone) {
			t.Errorf("without the sale: %v, want ErrSaleGone", err)
		}
		if _, err := s.Change(Change{By: "root", State: StatePaused}); !errors.Is(err, ErrSaleGone) {
			t.Errorf("change without the sale: %v, want ErrSaleGone", err)
		}
	})
}
