package limits

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
)

// entry is a call that was admitted, in the log that the limiter is compared with. at is in milliseconds.
type entry struct{ at, cost int64 }

// sum adds up what was admitted since a time.
func sum(log []entry, since int64) (n int64) {
	for i := len(log) - 1; i >= 0 && log[i].at >= since; i-- {
		n += log[i].cost
	}
	return n
}

// logged decides by the log alone: the window of a rate begins with the tick that its length reaches into.
func logged(log []entry, rates []Rate, precise bool, now, cost int64) bool {
	for _, rate := range rates {
		tick := rate.tick(precise).Milliseconds()
		if sum(log, now/tick*tick-rate.Window.Milliseconds())+max(cost, 1) > rate.Calls {
			return false
		}
	}
	return true
}

var logCalls = flag.Int("calls", 20_000, "`calls` of each test against a log; a million take minutes")

// Random calls at random times get the verdict of a log of all calls that were admitted. No window, wherever
// it begins, ever holds more than its rate. A refused call fits after the wait that it was told, and did not
// a tick before.
func TestAgainstALog(t *testing.T) {
	overRules(t, []string{
		"3/s 20/m 60/h 200/d", "7/15m 30/6h 3/10s", "3/s 20/m 60/h 200/d precise", "7/15m 30/6h 90/d precise",
	}, compareWithLog)
}

// caller calls for one value, at times of its own.
type caller struct {
	*testing.T
	limiter *Limiter
	rule    Rule
	value   map[string]string
	dice    *rand.Rand
}

// call makes a call at a time in milliseconds.
func (c *caller) call(at, cost int64) Decision {
	c.limiter.setMillisecond(at)
	return c.limiter.ask(c, "x", cost, c.value)
}

// overRules runs a test in parallel over many values of each rule.
func overRules(t *testing.T, rules []string, test func(*caller, int)) {
	t.Helper()
	calls := *logCalls
	if testkit.Race {
		calls = 4_000
	}
	const values = 50
	redis := roomtest.Redis(t)
	for n, rates := range rules {
		l := begin(t, redis, "x by user "+rates)
		rule := parse(t, "x by user "+rates)[0]
		var running sync.WaitGroup
		for value := range values {
			own := &Limiter{cfg: l.cfg, conn: l.conn}
			own.Use([]Rule{rule})
			c := &caller{t, own, rule, user(fmt.Sprintf("%d of %d", value, n)),
				rand.New(rand.NewPCG(uint64(value), 7))}
			running.Go(func() { test(c, calls/len(rules)/values) })
		}
		running.Wait()
	}
}

func compareWithLog(c *caller, calls int) {
	now, log, rule := int64(begun*1000), []entry(nil), c.rule
	fits := func(at, cost int64) bool { return logged(log, rule.Rates, rule.Precise, at, cost) }
	for range calls {
		now += c.pause()
		cost := max(c.dice.Int64N(5)-1, 0)
		d := c.call(now, cost)
		if d.Allowed != fits(now, cost) {
			c.Errorf("%s: at %d, cost %d: %+v, the log has another verdict", c.value, now, cost, d)
			return
		}
		if wait := d.RetryAfter.Milliseconds(); !d.Allowed && cost <= 3 &&
			(fits(now+wait-1, cost) || !fits(now+wait, cost)) {
			c.Errorf("%s: at %d, cost %d: %+v, it fits at another time", c.value, now, cost, d)
			return
		}
		if !d.Allowed || cost == 0 {
			continue
		}
		log = append(log, entry{now, cost})
		for _, rate := range rule.Rates {
			if n := sum(log, now-rate.Window.Milliseconds()+1); n > rate.Calls {
				c.Errorf("%s: %d calls in a window of %v", c.value, n, rate)
				return
			}
		}
		if cut := len(log) - 1000; cut > 0 { // more than a day's rate
			log = log[cut:]
		}
	}
}

// pause is a random time between two calls: within a tick, a window, a day, and over it.
func (c *caller) pause() int64 {
	switch c.dice.IntN(40) {
	case 0:
		return c.dice.Int64N(90_000_000)
	case 1, 2:
		return c.dice.Int64N(4_000_000)
	case 3, 4, 5, 6:
		return c.dice.Int64N(70_000)
	case 7, 8, 9, 10, 11:
		return c.dice.Int64N(700)
	}
	return c.dice.Int64N(3)
}

// someRates has each unit, small and large rates, and those that a client met.
var someRates = []string{"1/s", "2/s", "10/s", "100/s", "5/5s", "1/7s", "3/m", "100/m", "7/15m", "60/h",
	"1/h", "10/d", "1/d", "2/s precise", "100/s precise", "5/m precise", "10/15m precise", "20/d precise"}

// Who keeps a pace of 95% of a rate is never refused.
func TestBelowTheRate(t *testing.T) {
	overRules(t, someRates, func(c *caller, calls int) {
		rate := c.rule.Rates[0]
		pace := float64(rate.Window.Milliseconds()) / 0.95 / float64(rate.Calls)
		first := float64(begun*1000) + c.dice.Float64()*1e9
		for i := range calls {
			if d := c.call(int64(first+pace*float64(i)), 1); !d.Allowed {
				c.Errorf("%v, precise %v: call %d is refused: %+v", rate, c.rule.Precise, i, d)
				return
			}
		}
	})
}
