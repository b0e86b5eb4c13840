package traffic

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/redistest"
)

// What forget.lua returns and leaves, for every code.
func TestForgetScript(t *testing.T) {
	onEach(t, short, "UTC", func(t *testing.T, cfg Config, c *roomtest.Clock) {
		r := counting(t, cfg)
		for _, key := range []string{"a", "b"} {
			r.hit(t, key, 1, time.Time{})
		}
		for _, step := range []struct {
			id              int64
			keysMin, blocks int
			code            int64
			keys            string // that are left
		}{
			{7, 0, -1, keyUnknown, "a b"},
			{1, 3, 1, keyStays, "a b"}, // there are fewer keys
			{1, 2, 2, keyStays, "a b"}, // it has fewer blocks
			{1, 2, 1, keyDeleted, "b"},
			{1, 0, -1, keyUnknown, "b"},
			{2, 0, -1, keyDeleted, ""},
		} {
			var code int64
			testkit.Must(t, r.redis.Do(forgetScript.Call(&code, []string{namesKey, deletedKey, indexKey(step.id)},
				itoa(step.id), fmt.Sprint(step.keysMin), fmt.Sprint(step.blocks))))
			keys := strings.Join(roomtest.Ask[[]string](t, r.redis, "ZRANGE", namesKey, "0", "-1"), " ")
			if code != step.code || keys != step.keys {
				t.Errorf("%+v: code %d, keys %q", step, code, keys)
			}
		}
		deleted := roomtest.Ask[[]string](t, r.redis, "SMEMBERS", deletedKey)
		if slices.Sort(deleted); !slices.Equal(deleted, []string{"1", "2"}) {
			t.Errorf("%v are to be removed", deleted)
		}
	})
}

// The blocks of a deleted key go in steps, and its name begins anew.
func TestDelete(t *testing.T) {
	onEach(t, "1m", "UTC", func(t *testing.T, cfg Config, c *roomtest.Clock) {
		r, k := counting(t, cfg), keeping(t, cfg)
		const blocks = 2*clearBlocks + 7
		r.hit(t, "k", 5, time.Time{}) // its id is 1
		for i := range blocks {
			at := c.Now().Add(-time.Duration(i) * blockBuckets * time.Minute)
			testkit.Must(t, r.Count([]Hit{{"k", 5, at}, {"stays", 1, at}}))
		}
		r.flushAll(t)
		testkit.Must(t, r.Delete("k"))
		for name, err := range map[string]error{
			"second delete": r.Delete("k"), "query": func() error { _, err := r.identify("k"); return err }(),
		} {
			if !errors.Is(err, ErrNoKey) {
				t.Errorf("%s: %v", name, err)
			}
		}
		top, err := r.Top(Span{1, "h"}, 10)
		if err != nil || fmt.Sprint(top.Keys) != "[{stays 1}]" {
			t.Errorf("top %+v, %v", top, err)
		}
		r.hit(t, "k", 2, time.Time{}) // before its blocks are removed
		for _, want := range []int64{blocks - clearBlocks, blocks - 2*clearBlocks, 0, 0} {
			var left int64
			testkit.Must(t, r.redis.Do(clearScript.Call(&left, []string{deletedKey, indexKey(1)}, "1",
				fmt.Sprint(clearBlocks))))
			found := roomtest.Ask[[]string](t, r.redis, "KEYS", indexKey(1)+":*")
			deleted := roomtest.Ask[int64](t, r.redis, "SCARD", deletedKey)
			if left != want || int64(len(found)) != want || (deleted == 0) != (want == 0) {
				t.Errorf("%d blocks are left, want %d; there are %d; %d deleted keys", left, want, len(found), deleted)
			}
		}
		testkit.Must(t, r.Delete("stays"))
		testkit.Must(t, k.keep(t.Context()))
		left := roomtest.Ask[[]string](t, r.redis, "KEYS", tag+"*")
		slices.Sort(left)
		got := strings.Join(left, " ")
		if strings.Contains(got, indexKey(2)+":") || strings.Contains(got, deletedKey) {
			t.Errorf("there are %s", got)
		}
		if n := r.total(t, "k", c.Now().AddDate(0, 0, -30), c.Now().Add(time.Hour)); n != 2 {
			t.Errorf("%d hits of the new key, want 2", n)
		}
	})
}

// Keys are deleted while servers hit and ask for them and Keepers add them up: no block is left without its
// key, and what is hit after the last deletion is all there.
func TestDeleteMeanwhile(t *testing.T) {
	c := newClock(t, begun)
	cfg := config(t, roomtest.Of(redistest.New(t)), short, "UTC", c)
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	for range 2 {
		r, k := counting(t, cfg), keeping(t, cfg)
		working.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				testkit.Must(t, r.Count([]Hit{{"k", 1, c.Now().Add(-time.Duration(i%3000) * time.Minute)}}))
				if i%20 == 0 {
					r.flushAll(t)
				}
			}
		})
		working.Go(func() {
			for ctx.Err() == nil {
				c.Add(2 * time.Hour)
				_ = k.keep(ctx) // it ends with the test
			}
		})
	}
	deletes, asks := counting(t, cfg), counting(t, cfg)
	working.Go(func() {
		for ctx.Err() == nil {
			q := Query{Key: "k", Last: Span{1, "y"}, Step: dayStep, Zone: time.UTC}
			if _, err := asks.Query(q); err != nil && !errors.Is(err, ErrNoKey) && ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
	for deleted := 0; deleted < 100; {
		err := deletes.Delete("k")
		if err == nil {
			deleted++
		} else if !errors.Is(err, ErrNoKey) {
			t.Error(err)
		}
	}
	stop()
	working.Wait()
	k := keeping(t, cfg)
	_ = deletes.Delete("k") // if it was hit since
	testkit.Must(t, k.keep(t.Context()))
	deletes.hit(t, "k", 3, time.Time{})
	if n := deletes.total(t, "k", c.Now().AddDate(-1, 0, 0), c.Now().Add(time.Hour)); n != 3 {
		t.Errorf("%d hits, want 3", n)
	}
	id, err := deletes.identify("k")
	testkit.Must(t, err)
	for _, key := range roomtest.Ask[[]string](t, deletes.redis, "KEYS", tag+"[0-9]*") {
		if key != indexKey(id) && !strings.HasPrefix(key, indexKey(id)+":") {
			t.Errorf("%s is left of a deleted key", key)
		}
	}
}

// Where all keys are there, those that have only blocks of the last tier are deleted, and no others.
func TestOldKeysAge(t *testing.T) {
	onEach(t, short, "UTC", func(t *testing.T, cfg Config, c *roomtest.Clock) {
		log := testkit.CaptureLog(t)
		cfg.KeysMax = 4
		r, k := counting(t, cfg), keeping(t, cfg)
		names := func() string {
			return strings.Join(roomtest.Ask[[]string](t, r.redis, "ZRANGE", namesKey, "0", "-1"), " ")
		}
		r.hit(t, "old", 1, c.Now().AddDate(-1, 0, 0))
		r.hit(t, "older", 1, c.Now().AddDate(-2, 0, 0))
		r.hit(t, "both", 1, c.Now().AddDate(-2, 0, 0))
		r.hit(t, "both", 1, c.Now().AddDate(0, -1, 0))
		testkit.Must(t, k.keep(t.Context()))
		if got := names(); got != "old older both" || log.Count("-traffic-keys") != 0 {
			t.Errorf("with room left: %s, log %s", got, log)
		}
		r.hit(t, "new", 1, time.Time{})
		r.hit(t, "beyond", 1, time.Time{})
		c.Add(fullPace) // no frontier moves in an hour
		testkit.Must(t, k.keep(t.Context()))
		if got := names(); got != "both new other" {
			t.Errorf("with all keys there: %s", got)
		}
		if n := r.total(t, "both", c.Now().AddDate(-3, 0, 0), c.Now()); n != 2 {
			t.Errorf("%d hits of a key that stays, want 2", n)
		}
		r.hit(t, "beyond", 1, time.Time{})
		if got := names(); got != "both new other beyond" {
			t.Errorf("a further key after that: %s", got)
		}
		testkit.Must(t, k.keep(t.Context()))
		testkit.Must(t, k.keep(t.Context()))
		if log.Count("the statistics have all keys of -traffic-keys") != 1 || log.Count("were deleted") != 1 {
			t.Errorf("log %s", log)
		}
	})
}

// A retention of one tier has no old keys.
func TestOneTierDoesNotAge(t *testing.T) {
	onEach(t, "1d", "UTC", func(t *testing.T, cfg Config, c *roomtest.Clock) {
		cfg.KeysMax = 1
		r, k := counting(t, cfg), keeping(t, cfg)
		r.hit(t, "k", 1, c.Now().AddDate(-9, 0, 0))
		testkit.Must(t, k.keep(t.Context()))
		if keys, most, err := k.Keys(); keys != 1 || most != 1 || err != nil {
			t.Errorf("%d keys of %d, %v", keys, most, err)
		}
	})
}

// A list goes on behind its end, and names when each key was hit last.
func TestListKeys(t *testing.T) {
	onEach(t, short, "UTC", func(t *testing.T, cfg Config, c *roomtest.Clock) {
		r, k := counting(t, cfg), keeping(t, cfg)
		for i := range 5 {
			r.hit(t, fmt.Sprint("k", i), 1, c.Now().Add(-time.Duration(i)*5*time.Hour))
			r.hit(t, fmt.Sprint("k", i), 1, c.Now().AddDate(-1, 0, -i))
		}
		k.sweepAll(t)
		testkit.Must(t, r.Delete("k1"))
		var got []string
		for after := int64(0); ; {
			list, err := r.Keys(after, 2)
			if err != nil || list.Count != 4 || list.Max != cfg.KeysMax || len(list.Keys) > 2 {
				t.Fatalf("%+v, %v", list, err)
			}
			for _, key := range list.Keys {
				got = append(got, key.Key+" "+key.LastHit.Format(time.RFC3339))
			}
			if after = list.Next; after == 0 {
				break
			}
		}
		if want := "k0 2026-03-02T10:20:00Z, k2 2026-03-02T00:20:00Z, k3 2026-03-01T19:20:00Z, " +
			"k4 2026-03-01T14:20:00Z"; strings.Join(got, ", ") != want {
			t.Errorf("%s, want %s", strings.Join(got, ", "), want)
		}
		for _, bad := range [][2]int{{-1, 1}, {0, 0}, {0, listMax + 1}} {
			if _, err := r.Keys(int64(bad[0]), bad[1]); !errors.Is(err, ErrBadRange) {
				t.Errorf("%v: %v", bad, err)
			}
		}
	})
}
