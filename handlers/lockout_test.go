package handlers

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"flashsale/internal/rooms/limits"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// slowMax is the longest that anybody waits because of guesses from elsewhere, in seconds.
const slowMax = 5

// guarded is limited with the default rules, behind a proxy that names the client.
func guarded(t *testing.T, s *shop) *shop { return limited(t, s, limits.DefaultRules, trustLoopback) }

// loginAs logs in from an address.
func (s *shop) loginAs(t *testing.T, name, password, from string) (int, http.Header) {
	t.Helper()
	status, _, h := s.call(t, 0, "POST", "/login", fmt.Sprintf(`{"username":%q,"password":%q}`, name, password),
		"X-Forwarded-For", from)
	return status, h
}

// guess guesses a password from an address until that is closed.
func (s *shop) guess(t *testing.T, name, from string) {
	t.Helper()
	testkit.Until(t, name+" closed at "+from, func() bool {
		status, h := s.loginAs(t, name, "wrong", from)
		var wait int
		_, _ = fmt.Sscan(h.Get("Retry-After"), &wait)
		return status == 429 && wait > slowMax
	})
}

// Guesses from elsewhere keep nobody out: neither root at an address of -admin-from, nor a buyer at one from
// which that buyer has logged in, nor, for longer than some seconds, anybody else.
func TestGuessesKeepNobodyOut(t *testing.T) { onBoth(t, testGuessesKeepNobodyOut) }

func testGuessesKeepNobodyOut(t *testing.T, s *shop) {
	s = guarded(t, s)
	if status, _ := s.loginAs(t, "user2", "pass2", "203.0.113.2"); status != 200 {
		t.Fatalf("at first: %d", status)
	}
	for i := range 2 {
		s.guess(t, "root", fmt.Sprintf("198.51.100.%d", i))
		s.guess(t, "user2", fmt.Sprintf("2001:db8:0:%d::1", i))
	}
	for range 5 {
		if status, _ := s.loginAs(t, "root", "toor", "192.0.2.1"); status != 200 {
			t.Errorf("root at an address of -admin-from: %d", status)
		}
		if status, _ := s.loginAs(t, "user2", "pass2", "203.0.113.2"); status != 200 {
			t.Errorf("a buyer at a known address: %d", status)
		}
	}
	if status, _ := s.loginAs(t, "user2", "pass2", "2001:db8:0:1::2"); status != 429 {
		t.Errorf("where the name is closed: %d", status)
	}
	testkit.Until(t, "login from a new address", func() bool {
		status, h := s.loginAs(t, "user2", "pass2", "203.0.113.3")
		var wait int
		if _, err := fmt.Sscan(h.Get("Retry-After"), &wait); status == 429 && (err != nil || wait > slowMax) {
			t.Fatalf("a new address is to wait for %q s", h.Get("Retry-After"))
		}
		return status == 200
	})
}

// Names that exist and names that do not get the same answers.
func TestGuessesTellNoNames(t *testing.T) {
	s := guarded(t, openOnLoop(t, "unix", redistest.Start(t).Socket))
	var seen [2]string
	for i, name := range []string{"user2", "nobody"} {
		from := fmt.Sprintf("198.51.100.%d", i)
		for n := range 5 {
			status, h := s.loginAs(t, name, "wrong", from)
			seen[i] += fmt.Sprint(status, h.Get("Retry-After"), h.Get("RateLimit"), h.Get("RateLimit-Policy"), " ")
			s.awaitCounted(t, "/limits/login_failed?user="+name, fmt.Sprintf(`"remaining":%d,`, 4-n))
		}
		status, h := s.loginAs(t, name, "wrong", from)
		rate, _, _ := strings.Cut(h.Get("RateLimit"), ";t=")
		seen[i] += fmt.Sprint(status, h.Get("Retry-After") > "5", rate, h.Get("RateLimit-Policy"))
	}
	if seen[0] != seen[1] {
		t.Errorf("a user's name gets\n%s\nan invented one\n%s", seen[0], seen[1])
	}
}

// What people type as a name is not logged; of a user the id is.
func TestTypedNamesAreNotLogged(t *testing.T) {
	for name, want := range map[string]string{
		"hunter2" + strings.Repeat("x", 900): "last_user=0", "user7": "last_user=7",
	} {
		t.Run(want, func(t *testing.T) {
			log := testkit.CaptureLog(t)
			s := guarded(t, openOnLoop(t, "unix", redistest.Start(t).Socket))
			s.guess(t, name, "198.51.100.1")
			if text := log.String(); strings.Contains(text, name[:5]) || log.Count(want) == 0 || len(text) > 1000 {
				t.Errorf("%.10s is logged as %.2000s", name, text)
			}
		})
	}
}

// A login costs no allocation with the rate limits either, also while a name is guessed and behind a proxy.
func TestGuardedLoginDoesNotAllocate(t *testing.T) {
	s := guarded(t, open(t, "unix", redistest.Start(t).Socket))
	s.guess(t, "user3", "198.51.100.1")
	for _, header := range [][]string{nil, {"X-Forwarded-For", "203.0.113.1"}} {
		status, n := s.allocsOf("POST", "/login", `{"username":"user2","password":"pass2"}`, header...)
		if status != 200 || n != 0 {
			t.Errorf("behind %q: %d, %v allocations", header, status, n)
		}
	}
}
