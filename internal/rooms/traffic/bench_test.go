package traffic

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/redistest"
)

// One hit of a key of the server itself, on each core.
func BenchmarkHit(b *testing.B) {
	r := New(config(b, roomtest.Nowhere(), DefaultRetention, "UTC", newClock(b, begun)))
	counters := r.Counters(make([]string, 1000))
	b.Run("one thread", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			counters.Add(i%1000, 1)
		}
	})
	b.Run("all cores, one key", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				counters.Add(7, 1)
			}
		})
	})
	b.Run("keys of other programs", func(b *testing.B) {
		b.ReportAllocs()
		hits := []Hit{{Key: "page:home", N: 1}}
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				_ = r.Count(hits[:1:1])
			}
		})
	})
}

// A flush of 100,000 keys: the time, and how long Redis was busy with each script call.
func BenchmarkFlush(b *testing.B) {
	const keys = 100_000
	c := newClock(b, begun)
	cfg := config(b, roomtest.Of(redistest.New(b)), DefaultRetention, "UTC", c)
	cfg.KeysMax = keys
	r := counting(b, cfg)
	fill := func() {
		for i := range keys {
			r.await(entry{fmt.Sprintf("page:%d", i), c.Now().Unix() / 60}, 7)
		}
	}
	fill()
	if !r.flush() { // the first one makes the keys
		b.Fatal("not flushed")
	}
	roomtest.Ask[string](b, r.redis, "CONFIG", "RESETSTAT")
	for b.Loop() {
		b.StopTimer()
		fill()
		c.Add(time.Minute)
		b.StartTimer()
		if !r.flush() {
			b.Fatal("not flushed")
		}
	}
	found := regexp.MustCompile(`evalsha:p50=([\d.]+),p99=([\d.]+),p99.9=([\d.]+)`).FindStringSubmatch(
		roomtest.Ask[string](b, r.redis, "INFO", "latencystats"))
	for i, name := range []string{"p50-us", "p99-us", "p99.9-us"} {
		us, err := strconv.ParseFloat(found[i+1], 64)
		testkit.Must(b, err)
		b.ReportMetric(us, name) // of a script call
	}
}

// A year of a key with hits in every minute, as it is kept in the end: its bytes, and the time of a query.
func BenchmarkYear(b *testing.B) {
	c := newClock(b, "2026-01-01T00:00:00Z")
	cfg := config(b, roomtest.Of(redistest.New(b)), DefaultRetention, "UTC", c)
	r, k := counting(b, cfg), keeping(b, cfg)
	dice := rand.New(rand.NewPCG(1, 1))
	for range 365 {
		for range 24 * 60 {
			r.await(entry{"k", c.Now().Unix() / 60}, 1+dice.Int64N(200))
			c.Add(time.Minute)
		}
		if !r.flush() {
			b.Fatal("not flushed")
		}
		k.sweepAll(b)
	}
	index, _, err := readIndex(r.redis, 1)
	testkit.Must(b, err)
	bytes := roomtest.Ask[int64](b, r.redis, "MEMORY", "USAGE", indexKey(1))
	for _, member := range index {
		bytes += roomtest.Ask[int64](b, r.redis, "MEMORY", "USAGE", blockKey(1, blockOf(member)))
	}
	for _, step := range []string{"1d", "1w"} {
		b.Run("query by "+step, func(b *testing.B) {
			s, err := ParseStep(step)
			testkit.Must(b, err)
			for b.Loop() {
				_, err := r.Query(Query{Key: "k", Last: Span{1, "y"}, Step: s, Zone: time.UTC})
				testkit.Must(b, err)
			}
			b.ReportMetric(float64(bytes), "bytes")
			b.ReportMetric(float64(len(index)), "blocks")
		})
	}
}

// The most-hit keys of a day among 100,000.
func BenchmarkTop(b *testing.B) {
	const keys = 100_000
	c := newClock(b, begun)
	cfg := config(b, roomtest.Of(redistest.New(b)), DefaultRetention, "UTC", c)
	cfg.KeysMax = keys
	r, k := counting(b, cfg), keeping(b, cfg)
	dice := rand.New(rand.NewPCG(1, 1))
	for range 288 {
		for range 3000 {
			r.await(entry{fmt.Sprint(dice.IntN(keys)), c.Now().Unix() / 60}, 1+dice.Int64N(50))
		}
		if !r.flush() {
			b.Fatal("not flushed")
		}
		c.Add(slotMinutes * time.Minute)
		testkit.Must(b, k.trim(context.Background(), c.Now()))
	}
	for b.Loop() {
		_, err := r.Top(Span{24, "h"}, 10)
		testkit.Must(b, err)
	}
}
