package limits

import (
	"fmt"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// A lift in one process forgets that value in the others, and no other refusal.
func TestLiftForgetsOnlyItsValue(t *testing.T) {
	redis := real(t)
	here, there := begin(t, redis, DefaultRules), begin(t, redis, DefaultRules)
	now := time.Now()
	bob := Who{Name: []byte("bob"), Address: someone.Address}
	there.fails(t, someone, 5)
	there.fails(t, bob, 5)
	for range 2 { // the first one begins the list
		if err := here.Lift("login_failed", user("alice")); err != nil {
			t.Fatal(err)
		}
		testkit.Until(t, "lift in the other process", func() bool {
			return there.wait(LoginFailed, someone, now) == 0
		})
		if there.wait(LoginFailed, bob, now) <= 0 {
			t.Fatal("bob is not refused any more")
		}
		there.fails(t, someone, 5)
	}
}

// Where lifts were thrown away unheard, all refusals are forgotten. The list is bounded and expires.
func TestLiftsThatAreCutOff(t *testing.T) {
	server := redistest.Start(t)
	l := begin(t, real(t), DefaultRules)
	names := l.rules.Load().own[LoginFailed].limit("user")
	for i := range liftsMax + 1 {
		if err := l.conn.Do(names.ask([]byte(fmt.Sprint(i))).lifted()); err != nil {
			t.Fatal(err)
		}
	}
	if n := server.Do(t, "XLEN "+liftsKey); n != fmt.Sprintf(":%d", liftsMax) {
		t.Errorf("the list has %s entries, want %d", n, liftsMax)
	}
	if ttl := server.Do(t, "TTL "+liftsKey); len(ttl) != len(":90060") {
		t.Errorf("the list lives for %s s", ttl)
	}
	refused := func() bool { return l.wait(LoginFailed, someone, time.Now()) > 0 }
	l.fails(t, someone, 5)
	seen := l.hearLifts("")
	if refused() {
		t.Error("a full list that was never read leaves the refusal")
	}
	l.fails(t, someone, 5)
	if again := l.hearLifts(seen); again != seen || !refused() {
		t.Errorf("without news: %s after %s, refused %v", again, seen, refused())
	}
	if l.hearLifts("1-1"); refused() {
		t.Error("a list that begins behind the last look leaves the refusal")
	}
	l.fails(t, someone, 5)
	server.Do(t, "DEL "+liftsKey)
	if seen := l.hearLifts(seen); seen != "" || !refused() {
		t.Errorf("a list that has expired: %q, refused %v", seen, refused())
	}
}

// What Redis said before a lift is not remembered after it.
func TestDecisionOnItsWayDuringALift(t *testing.T) {
	l := begin(t, real(t), "x by user 5/h")
	list, err := l.rules.Load().events["x"].ask(user("a"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Lift("x", user("a")); err != nil {
		t.Fatal(err)
	}
	l.read(&Decision{}, list, time.Now(), []int64{5, 3_600_000, 3_600_000}, 1)
	if d, err := l.Check("x", user("a"), 1); err != nil || !d.Allowed {
		t.Errorf("%+v, %v", d, err)
	}
}
