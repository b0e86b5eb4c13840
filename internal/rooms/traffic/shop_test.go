package traffic

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// clock is a time that tests set.
type clock struct{ seconds atomic.Int64 }

func newClock(tb testing.TB, text string) *clock {
	c := &clock{}
	c.set(at(tb, text))
	return c
}

func (c *clock) now() time.Time      { return time.Unix(c.seconds.Load(), 0) }
func (c *clock) set(t time.Time)     { c.seconds.Store(t.Unix()) }
func (c *clock) add(d time.Duration) { c.seconds.Add(int64(d / time.Second)) }

const (
	begun = "2026-03-02T10:20:30Z" // where time begins in most tests
	short = "1m:2h,5m:1d,1h:7d,1d:60d,1w"
)

func config(tb testing.TB, network, address, tiers, zoneName string, c *clock) Config {
	return Config{
		Redis: pipeline.Config{Network: network, Address: address, Timeout: 20 * time.Second},
		Sale:  "testsale", Tiers: retention(tb, tiers), Zone: zone(tb, zoneName), KeysMax: 1000, Now: c.now,
	}
}

// onEach runs a test on a real redis-server and on the in-memory engine.
func onEach(t *testing.T, tiers, zoneName string, test func(t *testing.T, cfg Config, c *clock)) {
	t.Run("redis-server", func(t *testing.T) {
		c := newClock(t, begun)
		test(t, config(t, "unix", redistest.Start(t).Socket, tiers, zoneName, c), c)
	})
	t.Run("memory", func(t *testing.T) {
		c := newClock(t, begun)
		test(t, config(t, "tcp", redistest.Memory(t), tiers, zoneName, c), c)
	})
}

// counting is a Traffic that only keeps its connection: the test flushes.
func counting(tb testing.TB, cfg Config) *Traffic {
	tb.Helper()
	testkit.KeepLog(tb)
	t := New(cfg)
	background(tb, t.redis.Run)
	testkit.Until(tb, "connection", t.redis.Up)
	return t
}

// keeping is a Keeper that only keeps its connection.
func keeping(tb testing.TB, cfg Config) *Keeper {
	tb.Helper()
	k := NewKeeper(cfg)
	background(tb, k.redis.Run)
	testkit.Until(tb, "connection", k.redis.Up)
	return k
}

// background runs f until the test, or what is returned, ends it.
func background(tb testing.TB, f func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := f(ctx); err != nil {
			tb.Error(err)
		}
	})
	stop = func() {
		cancel()
		running.Wait()
	}
	tb.Cleanup(stop)
	return stop
}

// hit counts n hits of a key at a time and flushes.
func (t *Traffic) hit(tb testing.TB, key string, n int64, when time.Time) {
	tb.Helper()
	if err := t.Count([]Hit{{key, n, when}}); err != nil {
		tb.Fatal(err)
	}
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
	if err != nil {
		tb.Fatal(err)
	}
	return c.Total
}

// sweep keeps until nothing is due.
func (k *Keeper) sweepAll(tb testing.TB) {
	tb.Helper()
	cursor, _, err := k.advance(k.cfg.Now())
	for err == nil && cursor >= 0 {
		cursor, err = k.sweep(cursor)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// ask sends a command to Redis.
func ask[T any](tb testing.TB, c *pipeline.Conn, words ...string) (reply T) {
	tb.Helper()
	if err := c.Do(pipeline.Command(&reply, words...)); err != nil {
		tb.Fatal(err)
	}
	return reply
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
	if err != nil {
		tb.Fatal(err)
	}
	c, err := t.Query(q)
	if err != nil {
		tb.Fatal(err)
	}
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
