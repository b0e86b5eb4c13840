package redisx

import (
	"fmt"
	"testing"
)

// A draft gives an order all its pieces or none, and never the pieces of an order before it.
func TestDraft(t *testing.T) {
	for _, test := range []struct {
		name  string
		left  holdings
		wants []want
		fits  []bool
		plan  string
	}{
		{"from the richest", holdings{1: {0, 4, 9}}, []want{{0, []int64{1, 1}}}, []bool{true},
			"[{{2 0} [{1 5 1}] false}]"},
		{"from several", holdings{1: {0, 1, 2}}, []want{{0, []int64{1, 3}}}, []bool{true},
			"[{{2 0} [{1 2 3}] false} {{1 0} [{1 1 3}] false}]"},
		{"own pieces first", holdings{1: {2, 1, 1}}, []want{{0, []int64{1, 3}}}, []bool{true},
			"[{{1 0} [{1 1 3}] false}]"},
		{"too few", holdings{1: {0, 1, 1}}, []want{{0, []int64{1, 3}}}, []bool{false}, "[]"},
		{"two orders that want the same two foods", holdings{1: {1, 0}, 2: {0, 1}},
			[]want{{0, []int64{1, 1, 2, 1}}, {1, []int64{1, 1, 2, 1}}}, []bool{true, false},
			"[{{1 0} [{2 1 1}] false}]"},
		{"the pieces of an order before", holdings{1: {1, 0}}, []want{{0, []int64{1, 1}}, {1, []int64{1, 1}}},
			[]bool{true, false}, "[]"},
		{"two orders of a slice", holdings{1: {0, 5}}, []want{{0, []int64{1, 1}}, {0, []int64{1, 2}}},
			[]bool{true, true}, "[{{1 0} [{1 4 3}] false}]"},
		{"an empty cart", holdings{}, []want{{0, nil}}, []bool{true}, "[]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newDraft(test.left)
			for i, w := range test.wants {
				if fits := d.reserve(w); fits != test.fits[i] {
					t.Errorf("order %d: %v", i, fits)
				}
			}
			if got := fmt.Sprint(d.transfers()); got != test.plan {
				t.Errorf("plan %s, want %s", got, test.plan)
			}
		})
	}
}

// Pieces move to slices that have much less than the mean.
func TestTopUps(t *testing.T) {
	for _, test := range []struct {
		name string
		left [][]int64
		want string
	}{
		{"equal shares", [][]int64{{9, 9}, {9, 8}, {8, 9}}, "[]"},
		{"a low food", [][]int64{{90}, {100}, {20}}, "[{{1 2} [{1 40 70}] true}]"},
		{"a food that is not low enough comes along", [][]int64{{60, 90}, {20, 85}, {100, 100}},
			"[{{2 1} [{1 40 60} {2 7 91}] true}]"},
		{"only low foods cause a transfer", [][]int64{{100}, {85}, {100}}, "[]"},
		{"each slice gives once", [][]int64{{0}, {0}, {100}}, "[{{2 0} [{1 50 33}] true}]"},
		{"a slice that does not answer takes no part", [][]int64{{90}, nil, {10}}, "[{{0 2} [{1 40 50}] true}]"},
		{"no slice answers", [][]int64{nil, nil}, "[]"},
		{"nothing to give", [][]int64{{0}, {1}}, "[]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := fmt.Sprint(topUps(test.left)); got != test.want {
				t.Errorf("plan %s, want %s", got, test.want)
			}
		})
	}
}
