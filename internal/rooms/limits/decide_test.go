package limits

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// begun is where time begins in these tests: the last second of an hour, in the future of Redis, which does
// not forget a log then. A quarter of an hour later, seconds need more than 31 bits.
const begun = 2_147_482_799

// A refused call counts nowhere: not in the rates that had room, and not in other features.
func TestAllOrNone(t *testing.T) {
	const rules = "x by user 3/s 10/m; x by ip 2/m"
	both := map[string]string{"user": "a", "ip": "10.0.0.1"}
	roomtest.OnEach(t, func(t *testing.T, redis pipeline.Config) {
		l := begin(t, redis, rules)
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
}

func TestAnswer(t *testing.T) {
	roomtest.OnEach(t, func(t *testing.T, redis pipeline.Config) {
		l := begin(t, redis, "x by user 2/m 4/h")
		for _, step := range []struct {
			at, cost int64
			want     string
		}{
			{0, 0, "true 2/m 2 0s 0s"},
			{0, 1, "true 2/m 1 0s 1m0.6s"},
			{10, 1, "true 2/m 0 50.6s 1m0.2s"},
			{10, 1, "false 2/m 0 50.6s 1m0.2s"},
			{11, 0, "false 2/m 0 49.6s 59.2s"},
			{11, 3, "false 4/h 2 1h0m25s 1h0m25s"},
			{61, 1, "true 2/m 0 9.2s 1m0.2s"},
			{61, 1, "false 2/m 0 9.2s 1m0.2s"},
			{200, 1, "true 4/h 0 57m16s 1h0m16s"},
			{200, 1, "false 4/h 0 57m16s 1h0m16s"},
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

// A clock that jumps back gives no new room.
func TestClockJumpsBack(t *testing.T) {
	roomtest.OnEach(t, func(t *testing.T, redis pipeline.Config) {
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

// A log ends when its longest window does, and holds a bounded number of bytes until then.
func TestKeysAreBoundedAndExpire(t *testing.T) {
	server := redistest.Start(t)
	for _, c := range []struct {
		rules, key  string
		bytes, live int
	}{
		{"x by user 1000000/s 1000000/m 1000000/h 1000000/d", "{limit}x:user:a:864000", 2000, 87_264_000},
		{"y by user 1000/h 1000/d precise", "{limit}y:user:a:1000", 19_000, 86_401_000},
	} {
		l := begin(t, roomtest.Redis(t), c.rules)
		most := 0
		for i := range int64(3000) {
			l.setTime(begun + i*86)
			l.ask(t, c.rules[:1], 1, user("a"))
			most = max(most, integer(t, server.Do(t, "STRLEN "+c.key)))
		}
		if most > c.bytes || most < c.bytes*9/10 {
			t.Errorf("%s has %d bytes, want %d", c.key, most, c.bytes)
		}
		left := integer(t, server.Do(t, "PEXPIRETIME "+c.key)) - (begun+2999*86)*1000
		if left != c.live {
			t.Errorf("%s lives for %d ms, want %d", c.key, left, c.live)
		}
	}
}

// integer reads a reply of Redis.
func integer(t *testing.T, reply string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimPrefix(reply, ":"))
	if err != nil {
		t.Fatal(reply)
	}
	return n
}

func TestCheckErrors(t *testing.T) {
	l := begin(t, roomtest.Redis(t), "x by user 2/s")
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

// A clock that was ahead once is ahead for the keys of that call only.
func TestClockAheadStaysInItsKeys(t *testing.T) {
	roomtest.OnEach(t, func(t *testing.T, redis pipeline.Config) {
		l := begin(t, redis, "x by user 5/m; x by ip 60/m")
		fail := func(name, ip string, times int) {
			for range times {
				l.ask(t, "x", 1, map[string]string{"user": name, "ip": ip})
			}
		}
		l.setTime(begun + 7*86400)
		fail("a", "10.0.0.1", 1)
		l.setTime(begun)
		fail("b", "10.0.0.1", 1)
		fail("b", "10.0.0.2", 1)
		fail("c", "10.0.0.2", 5)
		if d := l.ask(t, "x", 1, user("c")); d.Allowed {
			t.Errorf("c at once: %+v", d)
		}
		l.setTime(begun + 61)
		if d := l.ask(t, "x", 1, user("c")); !d.Allowed {
			t.Errorf("c after a minute: %+v", d)
		}
	})
}
