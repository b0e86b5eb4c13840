package limits

import (
	"context"
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

var someone = Who{Name: []byte("alice"), Address: netip.MustParseAddr("10.0.0.1")}

// fails records failed logins, each counted before the next.
func (l *Limiter) fails(t *testing.T, w Who, times int) {
	t.Helper()
	for range times {
		l.Record(LoginFailed, w, 1)
		l.settled(t)
	}
}

// settled waits until nothing is on its way.
func (l *Limiter) settled(t *testing.T) {
	t.Helper()
	testkit.Until(t, "events counted", func() bool {
		for _, e := range l.rules.Load().events {
			for _, limit := range e.limits {
				if limit.memory.onTheirWay() > 0 {
					return false
				}
			}
		}
		return true
	})
}

// onTheirWay is the number of calls that are on their way to Redis.
func (m *memory) onTheirWay() (n int32) {
	for i := range m.shards {
		m.shards[i].mu.RLock()
		for _, r := range m.shards[i].values {
			n += r.pending
		}
		m.shards[i].mu.RUnlock()
	}
	return n
}

// wait is how long the caller must wait.
func (l *Limiter) wait(event Event, w Who, now time.Time) time.Duration {
	d, refused := l.Refused(event, w, now)
	if refused != (d.RetryAfter > 0) {
		panic("a refusal without a wait, or the other way around")
	}
	return d.RetryAfter
}

// Five failed logins of a name in a minute, and the next is refused; another name and another address pass.
func TestFailedLogins(t *testing.T) {
	roomtest.OnEach(t, func(t *testing.T, redis pipeline.Config) {
		l := begin(t, redis, DefaultRules)
		l.fails(t, someone, 4)
		if wait := l.wait(LoginFailed, someone, time.Now()); wait != 0 {
			t.Errorf("after four: refused for %v", wait)
		}
		l.fails(t, someone, 1)
		if wait := l.wait(LoginFailed, someone, time.Now()); wait <= 0 || wait > 61*time.Second {
			t.Errorf("after five: refused for %v", wait)
		}
		if wait := l.wait(LoginFailed, Who{Name: []byte("bob"), Address: someone.Address}, time.Now()); wait != 0 {
			t.Errorf("bob is refused for %v", wait)
		}
		if wait := l.wait(LoginFailed, someone, time.Now().Add(62*time.Second)); wait != 0 {
			t.Errorf("after a minute: refused for %v", wait)
		}
	})
}

func TestFailedLoginsOfAnAddress(t *testing.T) {
	l := begin(t, roomtest.Redis(t), DefaultRules)
	for i := range 60 {
		l.fails(t, Who{Name: []byte{'u', byte('0' + i)}, Address: netip.MustParseAddr("fd00::1")}, 1)
	}
	neighbour := Who{Name: []byte("new"), Address: netip.MustParseAddr("fd00::2")} // the same network
	if wait := l.wait(LoginFailed, neighbour, time.Now()); wait <= 0 {
		t.Error("the network is not refused")
	}
	if wait := l.wait(LoginFailed, Who{Name: []byte("new"), Address: someone.Address}, time.Now()); wait != 0 {
		t.Errorf("another address is refused for %v", wait)
	}
}

// As many calls may be on their way as the smallest rate has.
func TestCallsOnTheirWay(t *testing.T) {
	l := New(Config{Rules: parse(t, DefaultRules)}) // it does not run: nothing arrives
	for i := range 6 {
		if wait := l.wait(LoginFailed, someone, time.Now()); (wait > 0) != (i == 5) {
			t.Errorf("with %d on their way: %v", i, wait)
		}
		if i < 5 {
			l.Record(LoginFailed, someone, 1)
		}
	}
	by, bob := l.rules.Load().own[LoginFailed].limit("user"), []byte("bob")
	by.memory.leave(bob, 3)
	for i, room := range []int64{3, 1, 2} { // the least that Redis had room for counts
		by.memory.leave(bob, room)
		by.memory.send(bob, 1)
		if _, refused := by.refused(bob, time.Now()); refused != (i > 0) {
			t.Errorf("%d on their way, room for %d: refused %v", i+1, room, refused)
		}
	}
}

// A refusal is lifted in the process that is asked at once, and in the others soon. Other refusals stay.
func TestLift(t *testing.T) {
	redis := roomtest.Redis(t)
	here, there := begin(t, redis, DefaultRules), begin(t, redis, DefaultRules)
	now, bob := time.Now(), Who{Name: []byte("bob"), Address: someone.Address}
	there.fails(t, bob, 5)
	for _, l := range []*Limiter{here, there} {
		if d := l.ask(t, "login_failed", 1, user("alice")); !d.Allowed {
			t.Errorf("%+v", d)
		}
	}
	here.fails(t, someone, 3)
	there.fails(t, someone, 2)
	for i, l := range []*Limiter{here, there} {
		if l == here {
			l.fails(t, someone, 1)
		}
		if wait := l.wait(LoginFailed, someone, time.Now()); wait <= 0 {
			t.Errorf("process %d does not refuse", i)
		}
	}
	testkit.Must(t, here.Lift("login_failed", user("alice")))
	if wait := here.wait(LoginFailed, someone, time.Now()); wait != 0 {
		t.Errorf("refused for %v after the lift", wait)
	}
	for range 2 { // the first one begins the list of lifts
		testkit.Until(t, "lift in the other process", func() bool {
			return there.wait(LoginFailed, someone, now) == 0
		})
		if there.wait(LoginFailed, bob, now) <= 0 {
			t.Error("bob is not refused any more")
		}
		if d := here.ask(t, "login_failed", 0, user("alice")); d.Remaining != 5 {
			t.Errorf("after the lift: %+v", d)
		}
		there.fails(t, someone, 5)
		testkit.Must(t, here.Lift("login_failed", user("alice")))
	}
}

// Check answers from memory for a value that is refused; other rules forget it.
func TestRefusalIsRemembered(t *testing.T) {
	server := redistest.Start(t)
	l := begin(t, roomtest.Redis(t), "x by user 1/h")
	for _, want := range []bool{true, false, false} {
		if d, err := l.Check("x", user("a"), 1); err != nil || d.Allowed != want {
			t.Errorf("%+v, %v", d, err)
		}
	}
	server.Flush(t)
	if d, err := l.Check("x", user("a"), 1); err != nil || d.Allowed || d.RetryAfter <= 0 || d.Reset <= 0 ||
		d.Rate.String() != "1/h" {
		t.Errorf("from memory: %+v, %v", d, err)
	}
	l = begin(t, roomtest.Redis(t), "x by user 1/h") // as in the workers that follow a SIGHUP
	if d, err := l.Check("x", user("a"), 1); err != nil || !d.Allowed {
		t.Errorf("with rules read again: %+v, %v", d, err)
	}
}

func TestShadowAndOverrides(t *testing.T) {
	roomtest.OnEach(t, func(t *testing.T, redis pipeline.Config) {
		l := begin(t, redis, `
			x by user 2/h            # for everybody
			x by user of vip 4/h
			x by user of bot unlimited
			x by user 1/h shadow
			y by user 1/h shadow`)
		for name, want := range map[string]int{"a": 2, "vip": 4, "bot": 9} {
			for i := range 9 {
				d, err := l.Check("x", user(name), 1)
				if err != nil || d.Allowed != (i < want) {
					t.Errorf("%s, call %d: %+v, %v", name, i, d, err)
				}
			}
		}
		for range 3 {
			if d, err := l.Check("y", user("a"), 1); err != nil || !d.Allowed {
				t.Errorf("in shadow: %+v, %v", d, err)
			}
		}
		var count string
		err := l.conn.Do(pipeline.Command(&count, "STRLEN", "{limit}y:user:a:36000"))
		if err != nil || count != "18" {
			t.Errorf("in shadow %s bytes are counted, %v", count, err)
		}
	})
}

// While Redis is away open rules let pass, closed ones refuse, also on the order path.
func TestRedisAway(t *testing.T) {
	server := redistest.New(t)
	redis := pipeline.Config{Network: "unix", Address: server.Socket, Timeout: time.Second}
	l := begin(t, redis, "order by user 1/h closed; cart by user 1/h")
	server.Kill(t)
	testkit.Until(t, "Redis away", func() bool {
		_, _ = l.Check("cart", user("7"), 0)
		return !l.conn.Up()
	})
	if d, err := l.Check("cart", user("7"), 1); err != nil || !d.Allowed || d.Remaining != Unknown {
		t.Errorf("open: %+v, %v", d, err)
	}
	if d, err := l.Check("order", user("7"), 1); err == nil || d.Allowed {
		t.Errorf("closed: %+v, %v", d, err)
	}
	if wait := l.wait(Order, Who{ID: 7}, time.Now()); wait <= 0 {
		t.Error("closed: an order is not refused")
	}
	l.Record(Cart, Who{ID: 7}, 1)
	l.settled(t)
	if wait := l.wait(Cart, Who{ID: 7}, time.Now()); wait != 0 {
		t.Errorf("open: a cart is refused for %v", wait)
	}
	server.Restart(t)
	testkit.Until(t, "Redis back", func() bool {
		return l.wait(Order, Who{ID: 7}, time.Now()) == 0
	})
}

// What waits at a stop is counted.
func TestStopCounts(t *testing.T) {
	redis := roomtest.Redis(t)
	l := New(Config{Redis: redis, Rules: parse(t, "order by user 1000/h")})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = l.Run(ctx) })
	testkit.Until(t, "connection", l.conn.Up)
	for range 100 {
		l.Record(Order, Who{ID: 7}, 1)
	}
	stop()
	running.Wait()
	after := begin(t, redis, "order by user 1000/h")
	if d := after.ask(t, "order", 0, user("7")); d.Remaining != 900 {
		t.Errorf("%+v, want 100 counted", d)
	}
}

// The looks of the order path do not allocate, with values remembered and without.
func TestLooksDoNotAllocate(t *testing.T) {
	l := begin(t, roomtest.Redis(t), DefaultRules+"; order by user 2/s")
	l.fails(t, someone, 5)
	now := time.Now()
	if n := testkit.Allocations(func() {
		l.wait(LoginFailed, someone, now)
		l.wait(Order, Who{ID: 7}, now)
		l.wait(Cart, Who{ID: 7}, now)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A sweep locks a small part of the memory at a time, however full it is, and leaves what is on its way.
func TestMemoryIsInSmallParts(t *testing.T) {
	var m memory
	now := time.Now()
	for i := range 2 * rememberedMax {
		m.refuse([]byte(strconv.Itoa(i)), now, 0, remembered{until: now.Add(time.Hour).UnixNano()})
	}
	if n := m.size.Load(); n > rememberedMax || n < rememberedMax*9/10 {
		t.Errorf("%d values are remembered, want up to %d", n, rememberedMax)
	}
	for i := range m.shards {
		if n := len(m.shards[i].values); n > shardMax {
			t.Errorf("%d values have one lock, want %d", n, shardMax)
		}
	}
	m.send([]byte("a"), 1)
	m.refuse([]byte("a"), now, 0, remembered{until: now.Add(time.Minute).UnixNano()})
	m.sweep(now)
	if _, refused := m.recall([]byte("a"), now); !refused {
		t.Error("a sweep forgets a refusal that stands")
	}
	m.sweep(now.Add(2 * time.Hour))
	if r, refused := m.recall([]byte("a"), now); r.pending != 1 || refused || m.size.Load() != 1 {
		t.Errorf("after a sweep: %+v, refused %v, %d values", r, refused, m.size.Load())
	}
	m.arrive([]byte("a"), 1)
	if m.used() {
		t.Error("something is remembered")
	}
}
