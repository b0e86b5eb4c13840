package demand

import (
	"errors"
	"fmt"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

// connected makes a Demand that is flushed by the test.
func connected(t *testing.T, cfg Config) *Demand {
	t.Helper()
	testkit.KeepLog(t)
	d := New(cfg)
	testkit.Background(t, d.redis.Run)
	testkit.Until(t, "connection", d.redis.Up)
	return d
}

func lack(food, wanted int64) redisx.Lack { return redisx.Lack{Food: food, Wanted: wanted} }

// Several workers count for the same sale, each refusal once; sales are counted one by one.
func TestRefused(t *testing.T) {
	roomtest.OnEach(t, func(t *testing.T, redis pipeline.Config) {
		cfg := Config{Redis: redis, Sale: "abcdefgh", Foods: 3}
		first, second := connected(t, cfg), connected(t, cfg)
		check := func(want string) {
			t.Helper()
			r, err := first.Read()
			testkit.Must(t, err)
			if got := fmt.Sprint(r.Orders, r.Pieces, r.All, r.Other); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		check("map[] map[] 0 0")
		first.Refused([]redisx.Lack{lack(1, 3), lack(3, 1)})
		first.Refused([]redisx.Lack{lack(1, 2)})
		second.Refused([]redisx.Lack{lack(3, 2), lack(4, 1), lack(0, 1)})
		second.Refused([]redisx.Lack{lack(4, 1)})
		second.Refused(nil)
		check("map[] map[] 0 0")
		for range 2 {
			first.flush()
			second.flush()
		}
		check("map[1:2 3:2] map[1:5 3:3] 5 2")
		if ttl := roomtest.Ask[int](t, first.redis, "TTL", "demand:{d}:abcdefgh"); ttl < 399*86400 {
			t.Errorf("the counts are kept for %d s", ttl)
		}
		cfg.Sale = "hgfedcba"
		first = connected(t, cfg)
		check("map[] map[] 0 0")
	})
	var none *Demand
	none.Refused(nil)
}

// A flush is bounded, and the next ones send the rest. Foods beyond the most are not counted one by one.
func TestBounds(t *testing.T) {
	d := connected(t, Config{Redis: roomtest.Redis(t), Sale: "s", Foods: foodsMax + 5})
	for food := range int64(foodsMax + 5) {
		d.Refused([]redisx.Lack{lack(food+1, 1)})
	}
	flushed := func() int {
		d.flush()
		r, err := d.Read()
		testkit.Must(t, err)
		return len(r.Orders)
	}
	if n := flushed(); n > sentMax {
		t.Errorf("one flush sends %d foods", n)
	}
	for range foodsMax / sentMax {
		flushed()
	}
	if r, err := d.Read(); err != nil || len(r.Orders) != foodsMax || r.Other != 5 || r.All != foodsMax+5 {
		t.Errorf("%d foods, %d others of %d, %v", len(r.Orders), r.Other, r.All, err)
	}
	bytes := roomtest.Ask[int](t, d.redis, "MEMORY", "USAGE", "demand:{d}:s", "SAMPLES", "0")
	if bytes > 1_500_000 {
		t.Errorf("the counts take %d bytes", bytes)
	}
}

// Run writes what was counted before it ends; without Redis nothing waits for ever.
func TestRun(t *testing.T) {
	cfg := Config{Redis: roomtest.Redis(t), Sale: "s", Foods: 1}
	testkit.KeepLog(t)
	d := New(cfg)
	stop := testkit.Background(t, d.Run)
	testkit.Until(t, "connection", d.redis.Up)
	d.Refused([]redisx.Lack{lack(1, 1)})
	stop()
	if r, err := connected(t, cfg).Read(); err != nil || r.All != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	cfg.Redis = roomtest.Nowhere()
	away := New(cfg)
	stop = testkit.Background(t, away.Run)
	away.Refused(nil)
	if _, err := away.Read(); !errors.Is(err, pipeline.ErrUnavailable) {
		t.Errorf("without Redis: %v", err)
	}
	stop()
}

func TestRefusedDoesNotAllocate(t *testing.T) {
	d := New(Config{Redis: roomtest.Nowhere(), Sale: "s", Foods: 3})
	lacks := []redisx.Lack{lack(1, 1), lack(2, 1)}
	if n := testkit.Allocations(func() { d.Refused(lacks); d.Refused(nil) }); n != 0 {
		t.Errorf("a refusal allocates %v times", n)
	}
}
