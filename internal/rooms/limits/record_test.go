package limits

import (
	"net/netip"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// What has happened counts in every feature, also where another one has no room left: guesses of a password
// do not pass unseen behind an address that is refused.
func TestRecordCountsWithoutRoom(t *testing.T) {
	roomtest.OnEach(t, func(t *testing.T, redis pipeline.Config) {
		l := begin(t, redis, "login_failed by user 5/h 10/d; login_failed by ip 3/h")
		for range 3 {
			l.Record(LoginFailed, Who{Name: []byte("x"), Address: someone.Address}, 1)
		}
		l.settled(t)
		for range 4 { // they were let in before the refusal was known
			l.Record(LoginFailed, someone, 1)
		}
		l.settled(t)
		if d := l.ask(t, "login_failed", 0, user("alice")); d.Remaining != 1 {
			t.Errorf("after 4 guesses: %+v", d)
		}
		l.fails(t, someone, 3)
		d := l.ask(t, "login_failed", 0, user("alice"))
		if d.Allowed || d.Remaining != 0 || d.Rate.String() != "5/h" {
			t.Errorf("after 7 guesses: %+v", d)
		}
		if wait := l.wait(LoginFailed, someone, time.Now()); wait <= slowPeriod {
			t.Errorf("the name is refused for %v only", wait)
		}
	})
}

// What is over the rate leaves the window as it came: the wait is until the next call fits.
func TestWaitOverTheRate(t *testing.T) {
	roomtest.OnEach(t, func(t *testing.T, redis pipeline.Config) {
		for _, mode := range []string{"", " precise"} {
			l := begin(t, redis, "x by user 2/h"+mode)
			name := user("of" + mode)
			for _, at := range []int64{0, 60, 120} {
				l.setTime(begun + 1 + at)
				l.tell(t, "x", call{cost: 1, happened: true}, name)
			}
			d := l.ask(t, "x", 1, name)
			want := map[string]time.Duration{"": 59*time.Minute + 12*time.Second,
				" precise": time.Hour - time.Minute + time.Second}[mode]
			if d.Allowed || d.Remaining != 0 || d.RetryAfter != want {
				t.Errorf("%q: %+v, want to wait for %v", mode, d, want)
			}
			l.setTime(begun + 121 + int64(want/time.Second))
			if d := l.ask(t, "x", 1, name); !d.Allowed {
				t.Errorf("%q, after the wait: %+v", mode, d)
			}
		}
	})
}

// A Redis that answers and refuses to write counts nothing: closed rules refuse until it writes again.
func TestRedisRefusesToWrite(t *testing.T) {
	server := redistest.New(t)
	redis := roomtest.Of(server)
	l := begin(t, redis, "order by user 100/h closed; cart by user 100/h; message by user 100/h closed")
	server.Do(t, "CONFIG SET min-replicas-to-write 1")
	l.Record(Cart, Who{ID: 7}, 1)
	l.settled(t)
	now := time.Now()
	if !l.conn.Up() || l.wait(Order, Who{ID: 7}, now) <= 0 || l.wait(Message, Who{ID: 8}, now) <= 0 {
		t.Error("closed rules do not refuse")
	}
	if wait := l.wait(Cart, Who{ID: 7}, now); wait != 0 {
		t.Errorf("an open rule refuses for %v", wait)
	}
	l.probe()
	if l.wait(Order, Who{ID: 7}, now) <= 0 {
		t.Error("after a look at Redis a closed rule does not refuse")
	}
	server.Do(t, "CONFIG SET min-replicas-to-write 0")
	testkit.Until(t, "writes again", func() bool { return l.wait(Order, Who{ID: 7}, now) == 0 })
}

// A name that is too long counts by its first bytes, and its block is lifted by the whole name.
func TestLongNames(t *testing.T) {
	l := begin(t, roomtest.Redis(t), "login_failed by user 1/h")
	name := string(make([]byte, valueMax+45))
	who := Who{Name: []byte(name), Address: netip.MustParseAddr("10.0.0.1")}
	l.fails(t, who, 1)
	if wait := l.wait(LoginFailed, who, time.Now()); wait <= 0 {
		t.Error("it is not refused")
	}
	if err := l.Lift("login_failed", user(name)); err != nil {
		t.Error(err)
	}
	if wait := l.wait(LoginFailed, who, time.Now()); wait != 0 {
		t.Errorf("after the lift: %v", wait)
	}
}
