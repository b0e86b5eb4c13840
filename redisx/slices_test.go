package redisx

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/redisx/pipeline"
)

// The slots of the slices have equal distances, and no slice shares its tag with another.
func TestTags(t *testing.T) {
	for _, n := range []int{2, 3, 12, 48, 192} {
		cfg := Config{Slices: n}
		var taken []int
		for i := range n {
			k := cfg.KeysOf("abcdefgh", i)
			slot := pipeline.Slot(k.Marker)
			for _, key := range []string{k.Stock, k.Gate, k.Log, k.Stream, string(k.order(nil, 7)),
				string(k.cart(nil, cartName(1)))} {
				if pipeline.Slot(key) != slot {
					t.Fatalf("%d slices: %s has another slot than %s", n, key, k.Marker)
				}
			}
			taken = append(taken, slot)
		}
		slices.Sort(taken)
		for i, slot := range taken {
			next := append(taken, taken[0]+slots)[i+1]
			if width := slots / n; next-slot < width*3/4 || next-slot > width*5/4 {
				t.Errorf("%d slices: slots %d and %d are neighbours", n, slot, next)
			}
		}
	}
	one := Config{}
	if k := one.KeysOf("abcdefgh", 0); k.Stock != "stock_abcdefgh" || string(k.order(nil, 7)) != "o_7" {
		t.Errorf("one slice has the keys %+v", k)
	}
}

// A sale run to its end sells every piece, and no order is refused while all slices together have enough.
func TestSlicesSellEverything(t *testing.T) {
	for _, n := range []int{2, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			onEach(t, func(t *testing.T, cfg Config) { sellEverything(t, cfg, n) })
		})
	}
}

func sellEverything(t *testing.T, cfg Config, parts int) {
	cfg.Slices = parts
	const users = 400
	stock := []int64{100, 37, 1, 250, 12}
	s := open(t, cfg, stock...)
	var all sync.WaitGroup
	var sold [6]atomic.Int64
	for seller := range uint32(20) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(seller), 0))
			for user := seller + 1; user <= users; user += 20 {
				food, pieces := r.Int64N(5)+1, r.Int64N(3)+1
				if err := s.addToCart(user, cartName(int(user)), food, pieces); err != nil {
					t.Error(err)
				}
				switch err := s.placeOrder(user, cartName(int(user)), nil); {
				case err == nil:
					sold[food].Add(pieces)
				case !errors.Is(err, ErrOutOfStock):
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	found, err := s.Snapshot()
	testkit.Must(t, err)
	user := uint32(users)
	for food, left := range found.Left {
		if got := left + sold[food+1].Load(); got != stock[food] {
			t.Fatalf("food %d: %d left, %d sold of %d", food+1, left, sold[food+1].Load(), stock[food])
		}
		for ; left > 0; left-- { // the rest, piece by piece
			user++
			testkit.Must(t, s.addToCart(user, cartName(int(user)), int64(food+1), 1))
			if err := s.placeOrder(user, cartName(int(user)), nil); err != nil {
				t.Fatalf("food %d, %d left: %v", food+1, left, err)
			}
		}
	}
	if found, err = s.Snapshot(); err != nil || !slices.Equal(found.Left, make([]int64, 5)) {
		t.Errorf("after the last piece: %v, %v", found.Left, err)
	}
	testkit.Must(t, s.addToCart(1000, cartName(1000), 1, 1))
	testkit.Wants(t, "an order after the last piece", s.placeOrder(1000, cartName(1000), nil), ErrOutOfStock)
}
