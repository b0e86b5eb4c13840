package limits

import (
	"fmt"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/redistest"
)

// Where lifts were thrown away unheard, all refusals are forgotten. The list is bounded and expires.
func TestLiftsThatAreCutOff(t *testing.T) {
	server := redistest.Start(t)
	l := begin(t, roomtest.Redis(t), DefaultRules)
	names := l.rules.Load().own[LoginFailed].limit("user")
	for i := range liftsMax + 1 {
		testkit.Must(t, l.conn.Do(names.ask([]byte(fmt.Sprint(i))).lifted()))
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
	l := begin(t, roomtest.Redis(t), "x by user 5/h")
	list, err := l.rules.Load().events["x"].ask(user("a"))
	testkit.Must(t, err)
	testkit.Must(t, l.Lift("x", user("a")))
	l.read(&Decision{}, list, time.Now(), []int64{5, 3_600_000, 3_600_000}, 1)
	if d, err := l.Check("x", user("a"), 1); err != nil || !d.Allowed {
		t.Errorf("%+v, %v", d, err)
	}
}
