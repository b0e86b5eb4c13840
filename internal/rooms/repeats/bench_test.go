package repeats

import (
	"fmt"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/testkit/roomtest"
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
	clock := newClock()
	cfg := config(roomtest.Of(redistest.New(b)), clock)
	cfg.BytesMax = math.MaxInt64
	c := counter(b, cfg)
	count := func(kind string, texts int) func(i int) error {
		return func(i int) error {
			_, err := c.Count(kind + strconv.Itoa(i*7919%texts))
			return err
		}
	}
	popular, rare := count("popular", popularTexts), count("rare", rareTexts)
	measure(b, "INCR", func(int) error {
		_, err := c.redis.DoInteger(pipeline.NewCall().Integer("INCR", []byte("repeats:{r}:bench")))
		return err
	})
	for range messages {
		each(b, popularTexts, popularTexts, popular)
		clock.Add(time.Second)
	}
	measure(b, "nothing-expired", popular)
	clock.Add(cfg.Window + time.Hour)
	measure(b, "all-expired", popular)
	before := usedMemory(b, c)
	each(b, rareTexts, 256, rare)
	b.Run("text-that-came-once", func(b *testing.B) {
		b.ReportMetric(float64(usedMemory(b, c)-before)/rareTexts, "bytes")
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

// usedMemory is the memory of Redis in bytes.
func usedMemory(b *testing.B, c *Counter) int {
	const used = `return tonumber(string.match(redis.call('INFO', 'memory'), 'used_memory:(%d+)'))`
	return roomtest.Ask[int](b, c.redis, "EVAL", used, "0")
}
