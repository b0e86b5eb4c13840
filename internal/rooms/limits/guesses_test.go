package limits

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// people are users 1 to 3 of a catalogue, with a network of administrators.
func people(c *Config) {
	names := []string{"", "root", "alice", "bob"}
	c.Users, c.AdminFrom = len(names), []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	c.UserOf = func(name []byte) (user uint32, found bool) {
		i := slices.Index(names, string(name))
		return uint32(max(i, 0)), i > 0
	}
}

// from is a guess of alice's password from an address.
func from(address string) Who { return Who{Name: someone.Name, Address: netip.MustParseAddr(address)} }

// shut is a moment near now at which names that are slowed down are shut.
func shut() time.Time { return time.Now().Truncate(slowPeriod).Add(slowOpen) }

// open is one at which they are open.
func open() time.Time { return shut().Add(slowPeriod - slowOpen) }

// Guesses from one address close a name there, and slow it down elsewhere: for some seconds, and not at all
// for administrators and from where the user has logged in.
func TestGuessesCloseTheirAddress(t *testing.T) {
	roomtest.OnEach(t, func(t *testing.T, redis pipeline.Config) {
		l, there := begin(t, redis, DefaultRules, people), begin(t, redis, DefaultRules, people)
		there.LoggedIn(2, netip.MustParseAddr("198.51.100.1"))
		there.LoggedIn(3, netip.MustParseAddr("198.51.100.3")) // bob's
		testkit.Until(t, "login in Redis", func() bool {
			l.fails(t, Who{Name: []byte("alice"), Address: netip.MustParseAddr("203.0.113.1")}, 1)
			return l.known.has(2, netip.MustParseAddr("198.51.100.1"))
		})
		testkit.Must(t, l.Lift("login_failed", user("alice")))
		l.fails(t, someone, 5)
		for address, want := range map[string]struct{ shut, open time.Duration }{
			"10.0.0.1":     {slowPeriod + 1, slowPeriod + 1}, // and more: it is closed
			"10.0.0.2":     {slowPeriod - slowOpen, 0},
			"198.51.100.3": {slowPeriod - slowOpen, 0},
			"198.51.100.1": {0, 0},
			"192.0.2.200":  {0, 0},
		} {
			for moment, want := range map[time.Time]time.Duration{shut(): want.shut, open(): want.open} {
				if wait := l.wait(LoginFailed, from(address), moment); min(wait, slowPeriod+1) != want {
					t.Errorf("from %s: refused for %v, want %v", address, wait, want)
				}
			}
		}
		there.LoggedIn(2, netip.MustParseAddr("198.51.100.2")) // no guess comes after it
		testkit.Until(t, "login heard of", func() bool {
			return l.wait(LoginFailed, from("198.51.100.2"), shut()) == 0
		})
		l.fails(t, from("192.0.2.200"), 5)
		if wait := l.wait(LoginFailed, from("192.0.2.200"), open()); wait <= slowPeriod {
			t.Errorf("five guesses of an administrator are followed by a wait of %v", wait)
		}
	})
}

// Retry-After is in whole seconds, rounded up: who obeys it comes while the name is open.
func TestWhoObeysGetsIn(t *testing.T) {
	for at := range slowPeriod / time.Millisecond {
		now := time.Unix(1_000_000_000, 0).Add(at * time.Millisecond)
		wait := (slowWait(now) + time.Second - 1).Truncate(time.Second)
		if again := slowWait(now.Add(wait)); again != 0 || wait > slowPeriod {
			t.Fatalf("at %v: wait %v, and then %v", now, wait, again)
		}
	}
}

// A name has keys of seatsMax networks and no more; a further one may guess once in crowdedWait.
func TestCrowdOfGuessers(t *testing.T) {
	server := redistest.Start(t)
	l := begin(t, roomtest.Redis(t), DefaultRules, people)
	const crowd = 3 * seatsMax
	for i := range crowd {
		l.fails(t, from(fmt.Sprintf("2001:db8:%x::1", i)), 1)
	}
	keys := server.Do(t, "EVAL \"return #redis.call('KEYS', '{limit}login_failed:user:*')\" 0")
	if keys != fmt.Sprintf(":%d", 2*(seatsMax+1)+1) {
		t.Errorf("%s keys, want those of two rates for each seat and the sum, and the seats", keys)
	}
	for i := range crowd {
		wait := l.wait(LoginFailed, from(fmt.Sprintf("2001:db8:%x::2", i)), open())
		if closed := wait > slowPeriod; closed != (i >= seatsMax) || wait > crowdedWait {
			t.Errorf("network %d is refused for %v", i, wait)
		}
	}
	// The crowd leaves room for administrators and where the user has logged in before: their guesses count by
	// themselves, as if there were no crowd.
	l.LoggedIn(2, netip.MustParseAddr("198.51.100.1"))
	for _, address := range []string{"192.0.2.200", "198.51.100.1"} {
		for guess := range 5 {
			if wait := l.wait(LoginFailed, from(address), open()); wait > 0 {
				t.Errorf("guess %d from %s: refused for %v", guess, address, wait)
			}
			l.fails(t, from(address), 1)
		}
		if wait := l.wait(LoginFailed, from(address), open()); wait <= slowPeriod {
			t.Errorf("five guesses from %s are followed by a wait of %v", address, wait)
		}
	}
}

// A few guesses of some names do not take the room of the others at their address.
func TestNamesDoNotCloseTheirAddress(t *testing.T) {
	l := begin(t, roomtest.Redis(t), DefaultRules, people)
	for i := range 4 {
		l.fails(t, Who{Name: fmt.Appendf(nil, "name%d", i), Address: someone.Address}, 4)
	}
	by := l.rules.Load().own[LoginFailed].limit("ip")
	for range 16 { // as many more may be on their way, and more
		by.memory.send(someone.value(by, nil), 1)
	}
	if d, refused := by.refused(someone.value(by, nil), time.Now()); refused {
		t.Errorf("after 16 of 60 guesses in a minute the address is refused: %+v", d)
	}
}

// When the queue is full, guesses that are not counted close the name for their network: a flood of other
// names lets no guess pass.
func TestFloodLetsNoGuessPass(t *testing.T) {
	l := New(Config{Rules: parse(t, DefaultRules+"; order by user 1/s")}) // it does not run: nothing is counted
	for i := range queueMax {
		l.Record(LoginFailed, Who{Name: strconv.AppendInt(nil, int64(i), 10),
			Address: netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})}, 1)
	}
	passed := 0
	for range 300 {
		if _, refused := l.Refused(LoginFailed, someone, time.Now()); !refused {
			l.Record(LoginFailed, someone, 1)
			passed++
		}
	}
	if passed != 1 {
		t.Errorf("%d guesses pass a full queue, want 1", passed)
	}
	l.Record(Order, Who{ID: 7}, 1)
	if len(l.queue) != 1 || l.losing.Load() {
		t.Error("failed logins keep an order from being counted")
	}
}

// Whatever clients call themselves, and wherever they come from, the keys are a bounded number. An address
// shares its key with others that nobody can choose.
func TestKeysAreBounded(t *testing.T) {
	const values = 1 << 15
	count := func(by *limit, value func(i int) string) int {
		seen := map[string]bool{}
		for i := range values {
			seen[by.key(value(i))] = true
		}
		return len(seen)
	}
	l := New(Config{Rules: parse(t, DefaultRules+"; order by ip 1/s; cart by ip 1/s; message by ip 1/s; "+
		"logout by ip 1/s"), Secret: []byte("a")})
	address := func(i int) string { return fmt.Sprintf("1.%d.%d.%d", i>>16, i>>8&255, i&255) }
	for event, e := range l.rules.Load().own {
		if n := count(e.limit("ip"), address); n > addressSlots {
			t.Errorf("%s: %d keys for %d addresses", Name(Event(event)), n, values)
		}
	}
	names := l.rules.Load().own[LoginFailed].limit("user")
	if n := count(names, strconv.Itoa); n > nameSlots {
		t.Errorf("%d keys for %d names", n, values)
	}
	other := New(Config{Rules: parse(t, DefaultRules), Secret: []byte("b")}).rules.Load().own[LoginFailed]
	here, there := l.rules.Load().own[LoginFailed].limit("ip"), other.limit("ip")
	same := 0
	for i := range 100 {
		if here.key(address(i)) == there.key(address(i)) {
			same++
		}
	}
	if same > 10 {
		t.Errorf("%d of 100 addresses have the same slot under another secret", same)
	}
}

// flashsale unlock lifts a name in all processes: for all addresses, and what was counted of them.
func TestUnlock(t *testing.T) {
	redis := roomtest.Redis(t)
	l := begin(t, redis, DefaultRules, people)
	if found, err := Unlock(t.Context(), redis, "alice"); err != nil || found {
		t.Errorf("before any guess: found %v, %v", found, err)
	}
	for i := range 10 {
		l.fails(t, from(fmt.Sprintf("10.0.0.%d", i%2)), 1)
	}
	if found, err := Unlock(t.Context(), redis, "alice"); err != nil || !found {
		t.Errorf("found %v, %v", found, err)
	}
	testkit.Until(t, "lift", func() bool {
		return l.wait(LoginFailed, from("10.0.0.1"), shut()) == 0 &&
			l.wait(LoginFailed, from("10.0.0.2"), shut()) == 0
	})
	left := redistest.Start(t).Do(t, "EVAL \"return #redis.call('KEYS', '{limit}*user*')\" 0")
	if left != ":0" {
		t.Errorf("%s keys are left", left)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	away := pipeline.Config{Network: "unix", Address: t.TempDir() + "/none", Timeout: time.Second}
	if _, err := Unlock(ctx, away, "alice"); err == nil {
		t.Error("no error without Redis")
	}
}

// The networks of a user survive the process, are bounded, and cost a login nothing.
func TestKnownNetworks(t *testing.T) {
	server := redistest.Start(t)
	redis := roomtest.Redis(t)
	crowd := func(c *Config) { c.Users = 2 * knownUsers }
	address := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}) }
	func() {
		l := New(Config{Redis: redis, Rules: parse(t, DefaultRules), Users: 2 * knownUsers})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx) }()
		testkit.Until(t, "connection", l.conn.Up)
		for user := range uint32(2 * knownUsers) {
			for i := range 100 {
				l.LoggedIn(user+1, address(i))
			}
		}
		l.LoggedIn(1<<30, address(1)) // of a catalogue that was read again
		stop()
		testkit.Must(t, <-done)
	}()
	l := begin(t, redis, DefaultRules, crowd)
	testkit.Must(t, l.hearKnown(7))
	has := 0
	for i := range 100 {
		if l.known.has(7, address(i)) {
			has++
		}
	}
	if has != knownEach {
		t.Errorf("%d networks of 100 are known, want the last %d", has, knownEach)
	}
	bytes := server.Do(t, "MEMORY USAGE "+knownPrefix+"1")
	if n, err := strconv.Atoi(strings.TrimPrefix(bytes, ":")); err != nil || n > knownUsers*knownBytes {
		t.Errorf("%d users have %s bytes, want %d each", knownUsers, bytes, knownBytes)
	}
	if ttl := server.Do(t, "TTL "+knownPrefix+"1"); ttl <= ":2590000" {
		t.Errorf("they live for %s s", ttl)
	}
	i := 0
	if n := testkit.Allocations(func() { l.LoggedIn(7, address(i%9)); i++ }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

const knownBytes = 100 // of Redis for a user, see scripts/drill/README.md

const fullestBytes = 3200 // of Redis for a key of a tiered rate, see scripts/drill/README.md

// A key that was counted in at every moment that it can tell apart is no larger than the README promises.
func TestFullestKey(t *testing.T) {
	server := redistest.Start(t)
	l := begin(t, roomtest.Redis(t),
		"login_failed by user 1/s 5/m 9/h 10/d; login_failed by ip 60/s 60/m 60/h 60/d")
	at := int64(begun) * 1000
	own := l.rules.Load().own[LoginFailed]
	list, err := l.askAbout(happened{own, someone, 1})
	testkit.Must(t, err)
	for _, window := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
		for range 150 { // ticks of a hundredth
			at += (window / 100).Milliseconds()
			l.at = func() string { return strconv.FormatInt(at, 10) }
			if _, err := l.decide(own, list, call{cost: 1, happened: true}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, a := range list {
		for _, key := range a.keys(nil) {
			reply := server.Do(t, "MEMORY USAGE "+key+" SAMPLES 0")
			if n, err := strconv.Atoi(strings.TrimPrefix(reply, ":")); err != nil || n > fullestBytes {
				t.Errorf("%s has %s bytes, want %d at most", key, reply, fullestBytes)
			}
		}
	}
}
