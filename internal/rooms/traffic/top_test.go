package traffic

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
)

func TestTop(t *testing.T) {
	onEach(t, DefaultRetention, "UTC", func(t *testing.T, cfg Config, c *roomtest.Clock) {
		r := counting(t, cfg)
		for i := range 5 {
			r.hit(t, fmt.Sprint("k", i), int64(10*i+1), c.Now().Add(-time.Duration(i)*7*time.Minute))
		}
		r.hit(t, "old", 1000, c.Now().Add(-2*time.Hour))
		top, err := r.Top(Span{1, "h"}, 2)
		if err != nil || fmt.Sprint(top.Keys) != "[{k4 41} {k3 31}]" || top.OthersMax != 21 {
			t.Errorf("%+v, %v", top, err)
		}
		if top, err = r.Top(Span{5, "m"}, 10); err != nil || len(top.Keys) != 1 || top.OthersMax != 0 {
			t.Errorf("%+v, %v", top, err)
		}
		for _, bad := range []struct {
			last Span
			n    int
		}{{Span{25, "h"}, 1}, {Span{1, "h"}, 0}, {Span{1, "h"}, topMax + 1}} {
			if _, err := r.Top(bad.last, bad.n); !errors.Is(err, ErrBadRange) {
				t.Errorf("%+v: %v", bad, err)
			}
		}
	})
}

// Whatever the traffic, and after slots were trimmed: the keys that are listed have their hits, and no other
// key has more than the answer tells.
func TestTopBound(t *testing.T) {
	onEach(t, DefaultRetention, "UTC", func(t *testing.T, cfg Config, c *roomtest.Clock) {
		const keys = 1500 // more than a slot keeps
		cfg.KeysMax = keys
		r, k := counting(t, cfg), keeping(t, cfg)
		dice := rand.New(rand.NewPCG(5, 5))
		hits := make([]int64, keys)
		begin := c.Now()
		for range 6 {
			for i := range hits {
				n := 1 + dice.Int64N(200)/int64(1+i%40)
				hits[i] += n
				testkit.Must(t, r.Count([]Hit{{Key: fmt.Sprint(i), N: n}}))
			}
			r.flushAll(t)
			testkit.Must(t, k.trim(t.Context(), c.Now()))
			c.Add(slotMinutes * time.Minute)
		}
		if n := roomtest.Ask[int64](t, r.redis, "ZCARD", topPrefix+itoa(slotOf(begin))); n != slotKeys {
			t.Errorf("the first slot has %d keys, want %d", n, slotKeys)
		}
		top, err := r.Top(Span{1, "h"}, 20)
		if err != nil || len(top.Keys) != 20 {
			t.Fatalf("%+v, %v", top, err)
		}
		listed := map[string]bool{}
		for _, key := range top.Keys {
			var i int
			fmt.Sscan(key.Key, &i)
			listed[key.Key] = true
			if hits[i] != key.Hits {
				t.Errorf("key %s: %d hits, want %d", key.Key, key.Hits, hits[i])
			}
		}
		if !slices.IsSortedFunc(top.Keys, func(a, b TopKey) int { return cmp.Compare(b.Hits, a.Hits) }) {
			t.Errorf("not in order: %v", top.Keys)
		}
		for i, n := range hits {
			if !listed[fmt.Sprint(i)] && n > top.OthersMax {
				t.Errorf("key %d has %d hits; others have at most %d", i, n, top.OthersMax)
			}
		}
	})
}
