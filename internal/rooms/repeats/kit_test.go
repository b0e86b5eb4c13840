package repeats

import (
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
)

func newClock() *roomtest.Clock { return roomtest.NewClock(time.UnixMilli(1_800_000_000_000)) }

func config(redis pipeline.Config, c *roomtest.Clock) Config {
	return Config{
		Redis: redis, Secret: []byte(strings.Repeat("s", 32)), Window: 24 * time.Hour, BytesMax: 64 << 20,
		RepliesMax: 10, Now: c.Now,
	}
}

// onEach runs a test on both engines of Redis.
func onEach(t *testing.T, test func(t *testing.T, cfg Config, c *roomtest.Clock)) {
	roomtest.OnEach(t, func(t *testing.T, redis pipeline.Config) {
		c := newClock()
		test(t, config(redis, c), c)
	})
}

// counter is a Counter that runs until the test ends.
func counter(tb testing.TB, cfg Config) *Counter {
	tb.Helper()
	testkit.KeepLog(tb)
	c, err := New(cfg)
	testkit.Must(tb, err)
	testkit.Background(tb, c.Run)
	testkit.Until(tb, "connection", c.redis.Up)
	return c
}

// sender is the Keeper's sender of its only group.
func (k *Keeper) sender() *sender { return (*k.senders.Load())[0] }

// keeper is a Keeper that only keeps its connection.
func keeper(tb testing.TB, cfg Config, vk VK) *Keeper {
	tb.Helper()
	k := NewKeeper(cfg, vk)
	testkit.Background(tb, k.redis.Run)
	testkit.Until(tb, "connection", k.redis.Up)
	return k
}

// expect counts a text and compares.
func (c *Counter) expect(tb testing.TB, text string, want int64) {
	tb.Helper()
	if got, err := c.Count(text); err != nil || got != want {
		tb.Fatalf("%q came %d times (%v), want %d", text, got, err, want)
	}
}
