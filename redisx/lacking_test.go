package redisx

import (
	"errors"
	"slices"
	"testing"

	"flashsale/internal/testkit"
)

// Each line: pieces left, the cart, and which foods its refusal names.
func TestOrderNamesWhatItLacks(t *testing.T) {
	tests := []struct {
		name  string
		stock []int64
		cart  [][2]int64 // food, pieces
		want  []Lack
	}{
		{"one", []int64{2, 5}, [][2]int64{{1, 3}}, []Lack{{1, 3, 2}}},
		{"the second", []int64{2, 0}, [][2]int64{{1, 2}, {2, 1}}, []Lack{{2, 1, 0}}},
		{"all of three", []int64{0, 0, 0}, [][2]int64{{3, 1}, {1, 1}, {2, 1}},
			[]Lack{{3, 1, 0}, {1, 1, 0}, {2, 1, 0}}},
		{"in several changes", []int64{1, 0}, [][2]int64{{1, 1}, {2, 1}, {2, -1}, {1, 1}}, []Lack{{1, 2, 1}}},
		{"a settled cart", []int64{0, 9}, [][2]int64{{1, 3}, {1, -2}, {2, 1}, {2, 1}}, []Lack{{1, 1, 0}}},
	}
	for _, slices := range []int{1, 2} {
		onEach(t, func(t *testing.T, cfg Config) {
			cfg.Slices = slices
			for _, tc := range tests {
				t.Run(tc.name, func(t *testing.T) { wantLacks(t, cfg, tc.stock, tc.cart, tc.want) })
			}
		})
	}
}

func wantLacks(t *testing.T, cfg Config, stock []int64, changes [][2]int64, want []Lack) {
	raw(t, cfg, nil, "FLUSHALL")
	s := open(t, cfg, stock...)
	const user = 7
	for _, change := range changes {
		testkit.Must(t, s.addToCart(user, cartName(user), change[0], change[1]))
	}
	place := func() error {
		return s.await(func(then Outcome) { s.PlaceOrderNaming(user, cartName(user), nil, then) })
	}
	var got *OutOfStock
	err := place()
	if !errors.As(err, &got) || !errors.Is(err, ErrOutOfStock) || !slices.Equal(got.Lacks, want) {
		t.Errorf("%v, want %v", err, want)
	}
	if err := s.placeOrder(user, cartName(user), nil); err != ErrOutOfStock {
		t.Errorf("without names: %v", err)
	}
	for _, lack := range want {
		if _, _, err := s.Restock(Restock{By: "root", Food: lack.Food, Add: 3}); err != nil {
			t.Fatal(err)
		}
	}
	if err := place(); err != nil {
		t.Errorf("with enough pieces: %v", err)
	}
	if err := place(); err != ErrHasOrder {
		t.Errorf("again: %v", err)
	}
}
