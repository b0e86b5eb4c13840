package limits

import (
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
)

var hers = Who{ID: 7, Address: netip.MustParseAddr("fd00::1")}

// A quota is there at once, and comes back evenly.
func TestTake(t *testing.T) {
	l := New(Config{Rules: parse(t, "chat by user 10/10s; chat by ip 15/10s; chat by user 1/s shadow; "+
		"chat by user of 9 unlimited; chat by user of 10 1/h")})
	now := time.Unix(60_000, 0)
	take := func(w Who, at time.Duration, calls int, feature string, wait, reset time.Duration) {
		t.Helper()
		for range calls {
			if d, refused := l.Take(Chat, w, now.Add(at)); refused {
				t.Errorf("%v at %v: refused by %s for %v", w, at, d.Feature, d.RetryAfter)
			}
		}
		d, refused := l.Take(Chat, w, now.Add(at))
		if !refused || d.Feature != feature || d.RetryAfter != wait || d.Reset != reset || d.Remaining != 0 {
			t.Errorf("%v at %v: %v, %+v; want %s, %v, %v", w, at, refused, d, feature, wait, reset)
		}
	}
	take(hers, 0, 10, "user", time.Second, 11*time.Second)
	take(hers, 500*time.Millisecond, 0, "user", 500*time.Millisecond, 10500*time.Millisecond)
	take(hers, 3*time.Second, 3, "user", time.Second, 11*time.Second)
	sister := Who{ID: 8, Address: netip.MustParseAddr("fd00::2")} // the same network
	take(sister, 3*time.Second, 6, "ip", 333333320, 10333333320)  // 20 calls of 2/3 s, less 3 s
	take(Who{ID: 10}, 0, 1, "user", time.Hour, 2*time.Hour)
	for range 100 {
		if d, refused := l.Take(Chat, Who{ID: 9}, now); refused {
			t.Fatalf("unlimited: refused by %s", d.Feature)
		}
	}
	if _, refused := l.Take(Chat, Who{Address: netip.MustParseAddr("10.0.0.1")}, now); refused {
		t.Error("somebody without a login at another address is refused")
	}
	if _, err := l.Check("chat", user("7"), 1); !errors.Is(err, ErrNoRule) {
		t.Errorf("a question about it: %v", err)
	}
	testkit.Wants(t, "a lift", l.Lift("chat", user("7")), ErrNoRule)
	if _, refused := New(Config{Rules: parse(t, "x by user 1/s")}).Take(Chat, hers, now); refused {
		t.Error("refused without a rule")
	}
}

// As many pass as the rate has, however many take at once.
func TestTakeAtOnce(t *testing.T) {
	l, now := New(Config{Rules: parse(t, "chat by user 120/m")}), time.Unix(60_000, 0)
	var passed atomic.Int64
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for range 100 {
				if _, refused := l.Take(Chat, hers, now); !refused {
					passed.Add(1)
				}
			}
		})
	}
	running.Wait()
	if passed.Load() != 120 {
		t.Errorf("%d passed, want 120", passed.Load())
	}
	if n := testkit.Allocations(func() { l.Take(Chat, hers, now) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// An event that happens several times at once counts so often, on its way and in Redis. The next one is a
// single one: it waits until one of them has left the window.
func TestRecordSeveral(t *testing.T) {
	l := begin(t, roomtest.Redis(t), "invite by user 5/h")
	l.Record(Invite, hers, 4)
	l.settled(t)
	if wait := l.wait(Invite, hers, time.Now()); wait != 0 {
		t.Errorf("after four: refused for %v", wait)
	}
	if d := l.ask(t, "invite", 0, user("7")); d.Remaining != 1 {
		t.Errorf("after four: %+v", d)
	}
	l.Record(Invite, hers, 200)
	l.settled(t)
	if wait := l.wait(Invite, hers, time.Now()); wait < 50*time.Minute || wait > 61*time.Minute {
		t.Errorf("after 204: refused for %v", wait)
	}
	asleep := New(Config{Rules: parse(t, "invite by user 5/h")}) // nothing arrives
	asleep.Record(Invite, hers, 5)
	if wait := asleep.wait(Invite, hers, time.Now()); wait == 0 {
		t.Error("not refused with five on their way")
	}
}
