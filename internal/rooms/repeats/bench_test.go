package repeats_test

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/rooms/repeats"
	"flashsale/internal/testkit"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

const (
	popularTexts = 10
	messages     = 20_000 // of each popular text, one a second
	rareTexts    = 1_000_000
)

// BenchmarkCount measures a message by one caller and by 64 at once, beside a plain INCR: while nothing has
// expired, when all has, and beside a million texts that came once. -benchtime 3000x keeps the fill the most
// of its time.
func BenchmarkCount(b *testing.B) {
	const window = 24 * time.Hour
	redis := redistest.New(b)
	var now atomic.Int64
	now.Store(1_800_000_000)
	c, err := repeats.New(repeats.Config{Window: window, Secret: make([]byte, 32), BytesMax: math.MaxInt64,
		Now:   func() time.Time { return time.Unix(now.Load(), 0) },
		Redis: pipeline.Config{Network: "unix", Address: redis.Socket, Timeout: 20 * time.Second}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = c.Run(ctx) }) // it returns nil
	b.Cleanup(func() { stop(); running.Wait() })
	testkit.Until(b, "connection", c.Conn().Up)
	count := func(kind string, texts int) func(i int) error {
		return func(i int) error {
			_, err := c.Count(kind + strconv.Itoa(i*7919%texts))
			return err
		}
	}
	popular, rare := count("popular", popularTexts), count("rare", rareTexts)
	measure(b, "INCR", func(int) error {
		_, err := c.Conn().DoInteger(pipeline.NewCall().Integer("INCR", []byte("repeats:{r}:bench")))
		return err
	})
	for range messages {
		each(b, popularTexts, popularTexts, popular)
		now.Add(1)
	}
	measure(b, "nothing-expired", popular)
	now.Add(int64((window + time.Hour) / time.Second))
	measure(b, "all-expired", popular)
	before := usedMemory(b, redis)
	each(b, rareTexts, 256, rare)
	b.Run("text-that-came-once", func(b *testing.B) {
		b.ReportMetric(float64(usedMemory(b, redis)-before)/rareTexts, "bytes")
		b.ReportMetric(0, "ns/op")
	})
	measure(b, "million-texts", rare)
}

func measure(b *testing.B, name string, call func(int) error) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("%s/callers=%d", name, callers), func(b *testing.B) { each(b, b.N, callers, call) })
	}
}

// each makes calls 0 to n-1, by some callers at once.
func each(b *testing.B, n, callers int, call func(int) error) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := call(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// usedMemory is what Redis uses, in bytes.
func usedMemory(b *testing.B, redis *redistest.Server) int {
	const ask = `EVAL "return tonumber(string.match(redis.call('INFO', 'memory'), 'used_memory:(%d+)'))" 0`
	bytes, err := strconv.Atoi(strings.TrimPrefix(redis.Do(b, ask), ":"))
	if err != nil {
		b.Fatal(err)
	}
	return bytes
}
