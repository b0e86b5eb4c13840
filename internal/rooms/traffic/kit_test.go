package traffic

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
)

func newClock(tb testing.TB, text string) *roomtest.Clock { return roomtest.NewClock(at(tb, text)) }

const (
	begun = "2026-03-02T10:20:30Z" // where time begins in most tests
	short = "1m:2h,5m:1d,1h:7d,1d:60d,1w"
)

func config(tb testing.TB, redis pipeline.Config, tiers, zoneName string, c *roomtest.Clock) Config {
	return Config{
		Redis: redis, Sale: "testsale", Tiers: retention(tb, tiers), Zone: zone(tb, zoneName), KeysMax: 1000,
		Now: c.Now,
	}
}

// onEach runs a test on both engines of Redis.
func onEach(t *testing.T, tiers, zoneName string, test func(t *testing.T, cfg Config, c *roomtest.Clock)) {
	roomtest.OnEach(t, func(t *testing.T, redis pipeline.Config) {
		c := newClock(t, begun)
		test(t, config(t, redis, tiers, zoneName, c), c)
	})
}

// counting is a Traffic that only keeps its connection: the test flushes.
func counting(tb testing.TB, cfg Config) *Traffic {
	tb.Helper()
	testkit.KeepLog(tb)
	t := New(cfg)
	testkit.Background(tb, t.redis.Run)
	testkit.Until(tb, "connection", t.redis.Up)
	return t
}

// keeping is a Keeper that only keeps its connection.
func keeping(tb testing.TB, cfg Config) *Keeper {
	tb.Helper()
	k := NewKeeper(cfg)
	testkit.Background(tb, k.redis.Run)
	testkit.Until(tb, "connection", k.redis.Up)
	return k
}

// hit counts n hits of a key at a time and flushes.
func (t *Traffic) hit(tb testing.TB, key string, n int64, when time.Time) {
	tb.Helper()
	testkit.Must(tb, t.Count([]Hit{{key, n, when}}))
	t.flushAll(tb)
}

func (t *Traffic) flushAll(tb testing.TB) {
	tb.Helper()
	t.collect(t.now())
	if !t.flush() {
		tb.Fatal("not flushed")
	}
}

// total is the hits of a key from one time to another.
func (t *Traffic) total(tb testing.TB, key string, from, to time.Time) int64 {
	tb.Helper()
	c, err := t.Query(Query{Key: key, From: from, To: to, Step: yearStep, Zone: t.cfg.Zone})
	testkit.Must(tb, err)
	return c.Total
}

// sweep keeps until nothing is due.
func (k *Keeper) sweepAll(tb testing.TB) {
	tb.Helper()
	cursor, _, err := k.advance(k.cfg.Now())
	for err == nil && cursor >= 0 {
		cursor, err = k.sweep(cursor)
	}
	testkit.Must(tb, err)
}

// curve asks for a curve by the texts of a request: "last=24h step=1h".
func (t *Traffic) curve(tb testing.TB, key string, params map[string]string) *Curve {
	tb.Helper()
	q, err := parseQuery(func(name string) string {
		if name == "key" {
			return key
		}
		return params[name]
	}, t.cfg.Zone)
	testkit.Must(tb, err)
	c, err := t.Query(q)
	testkit.Must(tb, err)
	return c
}

// text writes points as "5 0 - 7*": - for none, * for a partial one.
func (c *Curve) text() (s string) {
	for i, p := range c.Points {
		if i > 0 {
			s += " "
		}
		if p.Hits == nil {
			s += "-"
		} else {
			s += fmt.Sprint(*p.Hits)
		}
		if p.Partial {
			s += "*"
		}
	}
	return s
}

// counted is hits that a test knows of.
type counted struct {
	at time.Time
	n  int64
}

// sum adds up hits from one time to another.
func sum(hits []counted, from, to time.Time) (n int64) {
	for _, h := range hits {
		if !h.at.Before(from) && h.at.Before(to) {
			n += h.n
		}
	}
	return n
}

func between(dice *rand.Rand, from, to time.Time) time.Time {
	return time.Unix(from.Unix()+dice.Int64N(to.Unix()-from.Unix()), 0)
}
