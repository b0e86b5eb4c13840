package redisx

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"testing"
)

// Each line: cart before, call, outcome, cart after ("" is no key).
func TestCartScript(t *testing.T) {
	for _, tc := range []struct {
		before      string
		food, count int64
		want        error
		after       string
	}{
		{"", 1, 1, nil, "1:1"},
		{"", 1, 3, nil, "1:3"},
		{"", 1, 4, ErrOverLimit, ""},
		{"", 1, 0, nil, ""},
		{"", 1, -1, nil, ""},
		{"", 1, math.MinInt64, nil, ""},
		{"", 1, math.MaxInt64, ErrOverLimit, ""},
		{"1:1", 1, 1, nil, "1:2"},
		{"1:1", 2, 2, nil, "1:1,2:2"},
		{"1:1", 2, 3, ErrOverLimit, "1:1"},
		{"1:3", 1, 1, ErrOverLimit, "1:3"},
		{"1:3", 1, -1, nil, "1:2"},
		{"1:1", 1, -3, nil, "1:0"},
		{"1:3", 1, math.MinInt64, nil, "1:0"},
		{"1:1", 2, -1, nil, "1:1"},
		{"1:0", 1, -1, nil, "1:0"},
		{"2:0,1:1", 2, 2, nil, "2:2,1:1"},
		{"2:0,1:1", 2, 3, ErrOverLimit, "2:0,1:1"},
		{"12:1,2:1", 2, 1, nil, "12:1,2:2"},
		{"1:1,2:1,3:1", 4, 1, ErrOverLimit, "1:1,2:1,3:1"},
		{"1:1,2:1,3:1", 4, 0, nil, "1:1,2:1,3:1"},
		{"1:1,2:1,3:1", 2, -1, nil, "1:1,2:0,3:1"},
	} {
		t.Run(tc.before+"+"+strconv.FormatInt(tc.food, 10)+":"+strconv.FormatInt(tc.count, 10), func(t *testing.T) {
			onEach(t, func(t *testing.T, cfg Config) {
				s := open(t, cfg, 1000)
				key := "c_" + string(cartName(1))
				if tc.before != "" {
					raw(t, cfg, nil, "SET", key, tc.before, "EX", "100")
				}
				if err := s.AddToCart(1, cartName(1), tc.food, tc.count); !errors.Is(err, tc.want) {
					t.Errorf("outcome %v, want %v", err, tc.want)
				}
				if got := rawString(t, cfg, "GET", key); got != tc.after {
					t.Errorf("cart %q, want %q", got, tc.after)
				}
				var ttl int64
				raw(t, cfg, &ttl, "TTL", key)
				if changed := tc.before != tc.after; changed && (ttl < 3590 || ttl > 3600) {
					t.Errorf("lifetime of the changed cart %d s, want an hour", ttl)
				}
			})
		})
	}
}

// A cart does not grow with the foods that went through it.
func TestCartForgetsEmptyFoods(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, make([]int64, 200)...)
		for food := range int64(200) {
			for _, count := range []int64{1, -1} {
				if err := s.AddToCart(1, cartName(1), food+1, count); err != nil {
					t.Fatal(err)
				}
			}
		}
		if cart := rawString(t, cfg, "GET", "c_"+string(cartName(1))); len(cart) > 33*len("200:0,") {
			t.Errorf("cart of %d bytes: %s", len(cart), cart)
		}
	})
}

// The script refuses by itself what AddToCart already refuses without asking Redis.
func TestCartScriptLimitsItself(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		var codes []int64
		raw(t, cfg, &codes, "EVAL", cartSource, "3", "c_x", "c_y", "c_x", "60", "1", "4", "2", "3", "1", "1")
		if want := []int64{cartOverLimit, cartDone, cartDone}; !slices.Equal(codes, want) {
			t.Errorf("codes %v, want %v", codes, want)
		}
	})
}
