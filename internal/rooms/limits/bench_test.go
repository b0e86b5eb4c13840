package limits

import (
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// BenchmarkDecision is rates by a minute, hour and day in each mode, with as many callers as a worker has
// counters, and 100 values, which have a call in each hundredth of the longest window. redis-us is the time
// that Redis counts for its script, in microseconds a call; bytes are those of a value's keys.
func BenchmarkDecision(b *testing.B) {
	redis := roomtest.Redis(b)
	for _, rates := range []string{"5/m 10/d", "100000/m", "100000/d", "100000/m 200000/h 400000/d"} {
		for _, mode := range []string{"tiered", "precise"} {
			b.Run(rates+" "+mode, func(b *testing.B) {
				l := begin(b, redis, "x by user "+rates+" "+mode)
				e := l.rules.Load().events["x"]
				windows := e.limits[0].rules.rates
				each(b, l, windows[len(windows)-1].Window, func(value string) error {
					list, err := e.ask(user(value))
					if err == nil {
						_, err = l.decide(e, list, call{cost: 1})
					}
					return err
				})
			})
		}
	}
}

const valuesOfEach = 100

func each(b *testing.B, l *Limiter, window time.Duration, decide func(value string) error) {
	redistest.Start(b).Do(b, "FLUSHALL")
	redistest.Start(b).Do(b, "CONFIG RESETSTAT")
	empty := figure(b, l, "memory", `used_memory:(\d+)`)
	var calls atomic.Int64
	l.at = func() string {
		return strconv.FormatInt(begun*1000+calls.Load()*window.Milliseconds()/valuesOfEach/100, 10)
	}
	b.SetParallelism(counters / 2)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := decide(strconv.FormatInt(calls.Add(1)%valuesOfEach, 10)); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(figure(b, l, "commandstats", `eval(?:sha)?:calls=\d+,usec=\d+,usec_per_call=([\d.]+)`),
		"redis-us")
	b.ReportMetric((figure(b, l, "memory", `used_memory:(\d+)`)-empty)/valuesOfEach, "bytes")
}

// figure finds a number in what Redis tells of itself.
func figure(b *testing.B, l *Limiter, section, pattern string) float64 {
	var text string
	testkit.Must(b, l.conn.Do(pipeline.Command(&text, "INFO", section)))
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		b.Fatalf("INFO %s has no %s", section, pattern)
	}
	n, err := strconv.ParseFloat(found[1], 64)
	testkit.Must(b, err)
	return n
}
