package repeats

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// clock is a time that tests set.
type clock struct{ ms atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ms.Store(1_800_000_000_000)
	return c
}

func (c *clock) now() time.Time      { return time.UnixMilli(c.ms.Load()) }
func (c *clock) add(d time.Duration) { c.ms.Add(d.Milliseconds()) }

func config(network, address string, c *clock) Config {
	return Config{
		Redis:  pipeline.Config{Network: network, Address: address, Timeout: 20 * time.Second},
		Secret: []byte(strings.Repeat("s", 32)), Window: 24 * time.Hour, BytesMax: 64 << 20,
		RepliesMax: 10, Now: c.now,
	}
}

// onEach runs a test on a real redis-server and on the in-memory engine.
func onEach(t *testing.T, test func(t *testing.T, cfg Config, c *clock)) {
	t.Run("redis-server", func(t *testing.T) {
		c := newClock()
		test(t, config("unix", redistest.Start(t).Socket, c), c)
	})
	t.Run("memory", func(t *testing.T) {
		c := newClock()
		test(t, config("tcp", redistest.Memory(t), c), c)
	})
}

// counter is a Counter that runs until the test ends.
func counter(tb testing.TB, cfg Config) *Counter {
	tb.Helper()
	testkit.KeepLog(tb)
	c, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	background(tb, c.Run)
	testkit.Until(tb, "connection", c.redis.Up)
	return c
}

// sender is the Keeper's sender of its only group.
func (k *Keeper) sender() *sender { return (*k.senders.Load())[0] }

// keeper is a Keeper that only keeps its connection.
func keeper(tb testing.TB, cfg Config, vk VK) *Keeper {
	tb.Helper()
	k := NewKeeper(cfg, vk)
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

// expect counts a text and compares.
func (c *Counter) expect(tb testing.TB, text string, want int64) {
	tb.Helper()
	if got, err := c.Count(text); err != nil || got != want {
		tb.Fatalf("%q came %d times (%v), want %d", text, got, err, want)
	}
}

// ask sends a command to the Redis of a Counter.
func ask[T any](tb testing.TB, c *pipeline.Conn, words ...string) (reply T) {
	tb.Helper()
	if err := c.Do(pipeline.Command(&reply, words...)); err != nil {
		tb.Fatal(err)
	}
	return reply
}
