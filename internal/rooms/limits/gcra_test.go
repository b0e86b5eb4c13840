package limits

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/testkit/roomtest"
	"flashsale/internal/testkit/stand"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// gcra is the usual script for one rate: a key with the theoretical time of arrival (TAT), in milliseconds.
// KEYS[1]; ARGV: calls, window in ms, cost, now in ms or "". It returns {1 or 0, ms to wait}.
var gcra = pipeline.NewScript(`
local calls, window, cost, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if not now then
   local time = redis.call("TIME")
   now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local tat = math.max(tonumber(redis.call("GET", KEYS[1]) or 0), now) + cost * window / calls
local wait = tat - window - now
if wait > 0 then return { 0, math.ceil(wait) } end
redis.call("SET", KEYS[1], string.format("%.0f", tat), "PX", math.ceil(tat - now) + 1)
return { 1, 0 }`)

// BenchmarkDecision is one rate by a minute, hour and day in each mode, beside GCRA: many callers, as many
// as the workers have counters, and 100 values, which have a call in each hundredth of the longest window.
// redis-us is what Redis counts for its script, in microseconds a call; bytes are those of a value's keys.
func BenchmarkDecision(b *testing.B) {
	redis := roomtest.Redis(b)
	for _, rates := range []string{"5/m 10/d", "100000/m", "100000/d", "100000/m 200000/h 400000/d"} {
		for _, mode := range []string{"tiered", "precise"} {
			b.Run(rates+" "+mode, func(b *testing.B) {
				l := begin(b, redis, "x by user "+rates+" "+mode)
				e := l.rules.Load().events["x"]
				windows := e.limits[0].rules.rates
				each(b, l, windows[len(windows)-1].Window, func(value, _ string) error {
					list, err := e.ask(user(value))
					if err == nil {
						_, err = l.decide(e, list, call{cost: 1})
					}
					return err
				})
			})
		}
	}
	b.Run("gcra", func(b *testing.B) {
		l := begin(b, redis, "x by user 1/s")
		each(b, l, time.Minute, func(value, now string) error {
			var reply []int64
			return l.conn.Do(gcra.Eval(&reply, []string{"gcra" + value}, "100000", "60000", "1", now))
		})
	})
}

const valuesOfEach = 100

func each(b *testing.B, l *Limiter, window time.Duration, decide func(value, now string) error) {
	redistest.Start(b).Do(b, "FLUSHALL")
	redistest.Start(b).Do(b, "CONFIG RESETSTAT")
	empty := figure(b, l, "memory", `used_memory:(\d+)`)
	var calls atomic.Int64
	now := func() string {
		return strconv.FormatInt(begun*1000+calls.Load()*window.Milliseconds()/valuesOfEach/100, 10)
	}
	l.at = now
	b.SetParallelism(counters / 2)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := decide(strconv.FormatInt(calls.Add(1)%valuesOfEach, 10), now()); err != nil {
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
	stand.Must(b, l.conn.Do(pipeline.Command(&text, "INFO", section)))
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		b.Fatalf("INFO %s has no %s", section, pattern)
	}
	n, err := strconv.ParseFloat(found[1], 64)
	stand.Must(b, err)
	return n
}

// Of one trace of calls under 60/m, tiered, precise and GCRA: how many are admitted, and in how many windows
// of a minute there were more than 60. GCRA lets twice the rate through when a burst follows a pause.
func TestAccuracyOnOneTrace(t *testing.T) {
	redis := roomtest.Redis(t)
	tiered, precise := begin(t, redis, "x by user 60/15m"), begin(t, redis, "y by user 60/15m precise")
	dice := rand.New(rand.NewPCG(1, 2))
	logs := [4][]entry{}
	const window = 900_000
	now := int64(begun * 1000)
	for range 2_000 {
		now += dice.Int64N(20_000)
		if dice.IntN(100) == 0 {
			now += dice.Int64N(3_000_000)
		}
		tiered.setMillisecond(now)
		precise.setMillisecond(now)
		var reply []int64
		if err := tiered.conn.Do(gcra.Eval(&reply, []string{"gcra"}, "60", fmt.Sprint(window), "1",
			fmt.Sprint(now))); err != nil {
			t.Fatal(err)
		}
		for i, admitted := range []bool{
			sum(logs[0], now-window+1) < 60, tiered.ask(t, "x", 1, user("a")).Allowed,
			precise.ask(t, "y", 1, user("a")).Allowed, reply[0] == 1,
		} {
			if admitted {
				logs[i] = append(logs[i], entry{now, 1})
			}
		}
	}
	most := [4]int64{}
	for i, log := range logs {
		for n := range log {
			most[i] = max(most[i], sum(log[:n+1], log[n].at-window+1))
		}
	}
	t.Logf("admitted: exact %d, tiered %d, precise %d, gcra %d; most in a window: %v", len(logs[0]),
		len(logs[1]), len(logs[2]), len(logs[3]), most)
	if most[1] > 60 || most[2] > 60 || most[3] <= 60 {
		t.Errorf("most in a window: %v", most)
	}
	if len(logs[2]) < len(logs[0])*99/100 {
		t.Errorf("precise admits %d, exact %d", len(logs[2]), len(logs[0]))
	}
}
