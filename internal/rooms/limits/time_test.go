package limits

import (
	"fmt"
	"testing"
	"time"

	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
)

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

// Seconds need more than 31 bits from 2038 on; the limits hold before, over that moment and after.
func TestFarTimes(t *testing.T) {
	roomtest.OnEach(t, func(t *testing.T, redis pipeline.Config) { testFarTimes(t, redis, "") })
	t.Run("precise", func(t *testing.T) { testFarTimes(t, roomtest.Redis(t), " precise") })
}

func testFarTimes(t *testing.T, redis pipeline.Config, mode string) {
	end := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	l := begin(t, redis, "x by user 5/m 7/h"+mode)
	for _, from := range []int64{1<<31 - 40, 1<<31 - 1, 1<<31 + 52, end, 1 << 32} {
		name, admitted := user(fmt.Sprint(from)), 0
		for i := range int64(50) {
			l.setTime(from + i)
			if l.ask(t, "x", 1, name).Allowed {
				admitted++
			}
		}
		if admitted != 5 {
			t.Errorf("%d: %d of 50 are admitted, want 5", from, admitted)
		}
		l.setTime(from + 62)
		if d := l.ask(t, "x", 1, name); !d.Allowed {
			t.Errorf("%d, after a minute: %+v", from, d)
		}
		if err := l.Lift("x", name); err != nil {
			t.Error(err)
		}
		if d := l.ask(t, "x", 0, name); d.Remaining != 5 {
			t.Errorf("%d, after a lift: %+v", from, d)
		}
	}
}
