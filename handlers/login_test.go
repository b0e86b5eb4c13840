package handlers

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// attempt is a login that is refused, and what it costs at least.
type attempt struct {
	name, body string
	status     int
	ctx        fasthttp.RequestCtx
	least      time.Duration // for a batch
}

func newAttempt(name, body string, status int) *attempt {
	a := &attempt{name: name, body: body, status: status, least: math.MaxInt64}
	var request fasthttp.Request
	request.Header.SetMethod("POST")
	request.SetRequestURI("/login")
	request.SetBodyString(body)
	a.ctx.Init(&request, nil, nil)
	return a
}

// reply carries out the login and returns its status, type and body.
func (a *attempt) reply(s *shop) string {
	a.ctx.Response.Reset()
	s.handle(&a.ctx)
	r := &a.ctx.Response
	return fmt.Sprintf("%d %s %s", r.StatusCode(), r.Header.ContentType(), r.Body())
}

// A wrong password is answered in the same words and after the same work whether there is a user of that
// name or not. No time decides alone: a login that is refused before any hashing shows what hashing costs
// on this machine at this moment, and the two must not differ by a good part of that. The least of many
// short batches in turn leaves out what else the machine does.
func TestLoginTellsNoNames(t *testing.T) {
	const batches, batch, tries = 200, 50, 5
	s := open(t, "unix", redistest.Start(t).Socket)
	known := newAttempt("known name", `{"username":"user12","password":"wrong-password"}`, 403)
	unknown := newAttempt("unknown name", `{"username":"nobody","password":"wrong-password"}`, 403)
	unhashed := newAttempt("no name", `{"username":123456,"password":"wrong-password"}`, 400)
	attempts := []*attempt{known, unknown, unhashed}
	for _, a := range attempts {
		if a.reply(s); a.ctx.Response.StatusCode() != a.status {
			t.Fatalf("%s: status %d, want %d", a.name, a.ctx.Response.StatusCode(), a.status)
		}
	}
	if r := known.reply(s); r != unknown.reply(s) || r != "403 application/json "+authFail {
		t.Errorf("replies %s and %s", r, unknown.reply(s))
	}
	var difference, hashing time.Duration
	for range tries {
		for range batches {
			for _, a := range attempts {
				start := time.Now()
				for range batch {
					s.login(&a.ctx, Call{})
				}
				a.least = min(a.least, time.Since(start))
			}
		}
		difference, hashing = (known.least - unknown.least).Abs(), min(known.least,
			unknown.least)-unhashed.least
		if difference < hashing/4 {
			return
		}
	}
	t.Errorf("a known and an unknown name differ by %v, hashing costs %v (for %d logins)", difference,
		hashing, batch)
}

// Refused logins leave one line, whatever their number, and nothing of what was typed.
func TestRefusedLoginsAreLogged(t *testing.T) { onBoth(t, testRefusedLoginsAreLogged) }

func testRefusedLoginsAreLogged(t *testing.T, s *shop) {
	log := testkit.CaptureLog(t)
	for range 5 {
		s.expect(t, 0, "POST", "/login", `{"username":"typed-name","password":"typed-password"}`, 403,
			authFail)
	}
	lines := slices.Collect(strings.Lines(log.String()))
	if len(lines) != 1 || !strings.Contains(lines[0], "logins are refused") ||
		!strings.Contains(lines[0], "refused=1 ") {
		t.Errorf("log %q, want one line", lines)
	}
	if strings.Contains(log.String(), "typed") {
		t.Errorf("log %q holds what was typed", log.String())
	}
}
