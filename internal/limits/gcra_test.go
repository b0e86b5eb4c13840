package limits

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"flashsale/redisx/pipeline"
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
// as the workers have counters, and 1000 keys.
func BenchmarkDecision(b *testing.B) {
	redis := real(b)
	for _, rates := range []string{"100000/m", "100000/d", "100000/m 200000/h 400000/d"} {
		for _, mode := range []string{"tiered", "precise"} {
			b.Run(rates+" "+mode, func(b *testing.B) {
				l := begin(b, redis, "x by user "+rates+" "+mode)
				e := l.rules.events["x"]
				each(b, func(key string) error {
					list, err := e.ask(user(mode + rates + key))
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
		each(b, func(key string) error {
			var reply []int64
			return l.conn.Do(gcra.Eval(&reply, []string{"gcra" + key}, "100000", "60000", "1", ""))
		})
	})
}

func each(b *testing.B, decide func(key string) error) {
	b.SetParallelism(counters / 2)
	b.RunParallel(func(pb *testing.PB) {
		for n := rand.IntN(1000); pb.Next(); n++ {
			if err := decide(strconv.Itoa(n % 1000)); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
}

// Of one trace of calls under 60/m, tiered, precise and GCRA: how many are admitted, and in how many windows
// of a minute there were more than 60. GCRA lets twice the rate through when a burst follows a pause.
func TestAccuracyOnOneTrace(t *testing.T) {
	redis := real(t)
	tiered, precise := begin(t, redis, "x by user 60/15m"), begin(t, redis, "y by user 60/15m precise")
	dice := rand.New(rand.NewPCG(1, 2))
	logs := [4][]entry{}
	const window = 900
	now := int64(begun)
	for range 2_000 {
		now += dice.Int64N(20)
		if dice.IntN(100) == 0 {
			now += dice.Int64N(3000)
		}
		tiered.setTime(now)
		precise.setTime(now)
		var reply []int64
		if err := tiered.conn.Do(gcra.Eval(&reply, []string{"gcra"}, "60", fmt.Sprint(window*1000), "1",
			fmt.Sprint(now*1000))); err != nil {
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
