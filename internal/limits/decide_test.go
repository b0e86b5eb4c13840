package limits

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/internal/polltest"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// begun is where time begins in these tests: the last second of an hour.
const begun = 1_700_002_799

func TestBoundaryBurstIsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, redis pipeline.Config) {
		l := begin(t, redis, "x by user 100/s")
		l.setTime(begun) // 100 calls at 0.9 s
		if d := l.ask(t, "x", 100, user("a")); !d.Allowed || d.Remaining != 0 {
			t.Errorf("100 calls: %+v", d)
		}
		l.setTime(begun + 1) // at 1.1 s
		if d := l.ask(t, "x", 100, user("a")); d.Allowed {
			t.Errorf("100 more after 0.2 s: %+v", d)
		}
		l.setTime(begun + 2)
		if d := l.ask(t, "x", 100, user("a")); !d.Allowed {
			t.Errorf("100 more after a second: %+v", d)
		}
	})
}

// A refused call counts nowhere: not in the rates that had room, and not in other features.
func TestAllOrNone(t *testing.T) {
	const rules = "x by user 3/s 10/m; x by ip 2/m"
	both := map[string]string{"user": "a", "ip": "10.0.0.1"}
	for _, cluster := range []bool{false, true} {
		t.Run(fmt.Sprintf("cluster %v", cluster), func(t *testing.T) {
			onEach(t, func(t *testing.T, redis pipeline.Config) {
				l := begin(t, redis, rules, func(c *Config) { c.Cluster = cluster })
				l.setTime(begun)
				for call, want := range []bool{true, true, false, false, false} {
					if d := l.ask(t, "x", 1, both); d.Allowed != want {
						t.Errorf("call %d: %+v", call, d)
					}
				}
				d := l.ask(t, "x", 0, user("a"))
				if !d.Allowed || d.Remaining != 1 {
					t.Errorf("the user after 2 calls that counted: %+v", d)
				}
				if d := l.ask(t, "x", 2, user("a")); d.Allowed {
					t.Errorf("a call that costs 2: %+v", d)
				}
				if d := l.ask(t, "x", 1, user("a")); !d.Allowed {
					t.Errorf("a call that costs 1: %+v", d)
				}
			})
		})
	}
}

// On a Redis Cluster the keys of two features are in different slots.
func TestCluster(t *testing.T) {
	server := redistest.New(t, "--cluster-enabled", "yes")
	if reply := server.Do(t, "CLUSTER ADDSLOTSRANGE 0 16383"); reply != "+OK" {
		t.Fatal(reply)
	}
	polltest.Until(t, "cluster", func() bool { return server.Do(t, "SET x y") == "+OK" })
	redis := pipeline.Config{Network: "unix", Address: server.Socket, Timeout: 20 * time.Second}
	both := map[string]string{"user": "a", "ip": "10.0.0.1"}
	l := begin(t, redis, "x by user 5/m 100/d precise closed; x by ip 2/m",
		func(c *Config) { c.Cluster = true })
	for call, want := range []bool{true, true, false} {
		d, err := l.Check("x", both, 1)
		if err != nil || d.Allowed != want {
			t.Errorf("call %d: %+v, %v", call, d, err)
		}
	}
	if d, err := l.Check("x", user("a"), 0); err != nil || d.Remaining != 3 {
		t.Errorf("the user has %+v, %v, want 3 left", d, err)
	}
}

// A call that was taken back is not remembered as one that used up the rate.
func TestTakenBackIsForgotten(t *testing.T) {
	l := begin(t, real(t), "x by user 1/d; x by ip 1/d", func(c *Config) { c.Cluster = true })
	if d := l.ask(t, "x", 1, user("a")); !d.Allowed {
		t.Errorf("%+v", d)
	}
	address := map[string]string{"ip": "10.0.0.1"}
	if d := l.ask(t, "x", 1, map[string]string{"user": "a", "ip": address["ip"]}); d.Allowed {
		t.Errorf("a second call of the user: %+v", d)
	}
	if d, err := l.Check("x", address, 1); err != nil || !d.Allowed {
		t.Errorf("the address, which nothing counts for: %+v, %v", d, err)
	}
	if d, err := l.Check("x", user("a"), 1); err != nil || d.Allowed {
		t.Errorf("the user: %+v, %v", d, err)
	}
}

func TestAnswer(t *testing.T) {
	onEach(t, func(t *testing.T, redis pipeline.Config) {
		l := begin(t, redis, "x by user 2/m 4/h")
		for _, step := range []struct {
			at, cost int64
			want     string
		}{
			{0, 0, "true 2/m 2 0s 0s"},
			{0, 1, "true 2/m 1 0s 1m1s"},
			{10, 1, "true 2/m 0 51s 1m1s"},
			{10, 1, "false 2/m 0 51s 1m1s"},
			{11, 0, "false 2/m 0 50s 1m0s"},
			{11, 3, "false 4/h 2 1h0m49s 1h0m49s"},
			{61, 1, "true 2/m 0 10s 1m1s"},
			{61, 1, "false 2/m 0 10s 1m1s"},
			{200, 1, "true 4/h 0 57m40s 1h0m40s"},
			{200, 1, "false 4/h 0 57m40s 1h0m40s"},
		} {
			l.setTime(begun + 1 + step.at)
			d := l.ask(t, "x", step.cost, user("a"))
			got := fmt.Sprintf("%v %v %d %v %v", d.Allowed, d.Rate, d.Remaining, d.RetryAfter, d.Reset)
			if got != step.want {
				t.Errorf("at %d, cost %d: %s, want %s", step.at, step.cost, got, step.want)
			}
		}
	})
}

// entry is a call that was admitted, in the log that the limiter is compared with.
type entry struct{ at, cost int64 }

// sum adds up what was admitted since a second.
func sum(log []entry, since int64) (n int64) {
	for i := len(log) - 1; i >= 0 && log[i].at >= since; i-- {
		n += log[i].cost
	}
	return n
}

// logged decides by the log alone: the window of a rate begins with the bucket that its length reaches into.
func logged(log []entry, rates []Rate, precise bool, now, cost int64) bool {
	for _, rate := range rates {
		bucket := int64(rate.bucket() / time.Second)
		if precise {
			bucket = 1
		}
		since := now/bucket*bucket - int64(rate.Window/time.Second)
		if sum(log, since)+max(cost, 1) > rate.Calls {
			return false
		}
	}
	return true
}

var logCalls = flag.Int("calls", 20_000, "random `calls` of TestAgainstALog; a million take minutes")

// Random calls at random times get the verdict of a log of all calls that were admitted. No window, wherever
// it ends, ever holds more than its rate.
func TestAgainstALog(t *testing.T) {
	calls := *logCalls
	if testing.Short() || redistest.Race {
		calls = 20_000
	}
	const keys = 50
	redis := real(t)
	for _, rules := range []string{
		"x by user 3/s 20/m 60/h 200/d", "x by user 7/15m 30/6h 3/10s", "x by user 3/s 20/m 60/h 200/d precise",
		"x by user 7/15m 30/6h 90/d precise",
	} {
		rule := parse(t, rules)[0]
		l := begin(t, redis, rules)
		var running sync.WaitGroup
		for key := range keys {
			name := fmt.Sprintf("%s %d", strings.Fields(rules)[3]+fmt.Sprint(rule.Precise), key)
			running.Go(func() { compareWithLog(t, l, rule, name, uint64(key), calls/4/keys) })
		}
		running.Wait()
	}
}

func compareWithLog(t *testing.T, l *Limiter, rule Rule, name string, seed uint64, calls int) {
	dice := rand.New(rand.NewPCG(seed, 7))
	own := &Limiter{cfg: l.cfg, conn: l.conn}
	own.rules = newRuleset([]Rule{rule})
	now, log := int64(begun), []entry(nil)
	for range calls {
		switch dice.IntN(40) {
		case 0:
			now += dice.Int64N(90_000)
		case 1, 2:
			now += dice.Int64N(4000)
		case 3, 4, 5, 6:
			now += dice.Int64N(70)
		default:
			now += dice.Int64N(3)
		}
		cost := max(dice.Int64N(5)-1, 0)
		own.setTime(now)
		d := own.ask(t, "x", cost, user(name))
		if want := logged(log, rule.Rates, rule.Precise, now, cost); d.Allowed != want {
			t.Errorf("%s: at %d, cost %d: %+v, the log has %v", name, now, cost, d, want)
			return
		}
		if !d.Allowed || cost == 0 {
			continue
		}
		log = append(log, entry{now, cost})
		for _, rate := range rule.Rates {
			if n := sum(log, now-int64(rate.Window/time.Second)+1); n > rate.Calls {
				t.Errorf("%s: %d calls in a window of %v", name, n, rate)
				return
			}
		}
		if cut := len(log) - 1000; cut > 0 { // more than a day's rate
			log = log[cut:]
		}
	}
}

// A clock that jumps back gives no new room.
func TestClockJumpsBack(t *testing.T) {
	onEach(t, func(t *testing.T, redis pipeline.Config) {
		for _, mode := range []string{"", " precise"} {
			l := begin(t, redis, "x by user 2/h"+mode)
			name := user("of" + mode)
			l.setTime(begun)
			l.ask(t, "x", 2, name)
			l.setTime(begun - 10_000)
			if d := l.ask(t, "x", 1, name); d.Allowed {
				t.Errorf("%q: %+v", mode, d)
			}
		}
	})
}

// A key ends when its longest window does, and holds a bounded number of fields until then.
func TestKeysAreBoundedAndExpire(t *testing.T) {
	server := redistest.Start(t)
	l := begin(t, real(t), "x by user 1000000/s 1000000/m 1000000/h 1000000/d")
	for i := range int64(3000) {
		l.setTime(begun + i*47)
		l.ask(t, "x", 1, user("a"))
	}
	const key = "limit_{x:user:a}"
	if n := server.Do(t, "HLEN "+key); n != ":147" {
		t.Errorf("the key has %s fields, want 61 + 61 + 25", n)
	}
	if ttl := server.Do(t, "TTL "+key); ttl != ":90001" && ttl != ":90000" {
		t.Errorf("it lives for %s s, want a day and an hour", ttl)
	}
	l = begin(t, real(t), "y by user 5/d precise")
	l.setTime(begun + 2999*47)
	l.ask(t, "y", 1, user("a"))
	if n := server.Do(t, "HLEN limit_{y:user:a}"); n != ":2" {
		t.Errorf("the precise key has %s fields, want an hour and a second", n)
	}
	hour := fmt.Sprintf("limit_{y:user:a}:%d", (begun+2999*47)/3600)
	n, ttl := server.Do(t, "HLEN "+hour), server.Do(t, "TTL "+hour)
	if n != ":2" || len(ttl) < 2 || ttl < ":9" {
		t.Errorf("its hour has %s fields and lives for %s s", n, ttl)
	}
}

func TestCheckErrors(t *testing.T) {
	l := begin(t, real(t), "x by user 2/s")
	if _, err := l.Check("y", user("a"), 1); !errors.Is(err, ErrNoRule) {
		t.Error(err)
	}
	if _, err := l.Check("x", map[string]string{"ip": "10.0.0.1"}, 1); !errors.Is(err, ErrNoRule) {
		t.Error(err)
	}
	for _, wrong := range []map[string]string{{"ip": "x", "user": "a"}, {"user": ""}, {"shoe": "42"}} {
		if _, err := l.Check("x", wrong, 1); err == nil || errors.Is(err, ErrNoRule) {
			t.Errorf("%v: %v", wrong, err)
		}
	}
}
