package handlers

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/limits"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

const (
	noLimit   = `{"code":"LIMIT_NOT_FOUND","message":"没有对应的限流规则"}`
	neverFits = `{"code":"COST_OUT_OF_LIMIT","message":"cost 超过限流规则的次数"}`
)

// limited serves the sale of a shop with rate limits, and with what change sets.
func limited(t *testing.T, s *shop, rules string, change func(*Config)) *shop {
	t.Helper()
	list, err := limits.ParseRules("rules", rules)
	testkit.Must(t, err)
	l := limits.New(limits.Config{Redis: s.redis.Config, Rules: list, Users: s.cfg.Catalog.Users(),
		UserOf: s.cfg.Catalog.UserOf, AdminFrom: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
	testkit.Background(t, l.Run)
	for _, rule := range list {
		if rule.Event == limits.Name(limits.Chat) { // it needs no Redis
			continue
		}
		value := map[string]string{"user": "nobody", "ip": "192.0.2.1", "email": "x", "vk": "1"}[rule.Feature]
		testkit.Until(t, "Redis for the limits", func() bool {
			d, err := l.Check(rule.Event, map[string]string{rule.Feature: value}, 0)
			return err == nil && d.Remaining != limits.Unknown
		})
	}
	twin := s.twin(func(cfg *Config) {
		cfg.ServiceToken = serviceToken
		if change != nil {
			change(cfg)
		}
	}, Limits(l))
	twin.keys, twin.client = s.keys, &http.Client{Transport: checkedTransport{&http.Transport{}}}
	twin.base = "http://" + twin.listen(t)
	t.Cleanup(twin.client.CloseIdleConnections)
	return twin
}

// Failed logins are refused before the password is looked at: the right one is refused too. Another user is
// not. A successful login counts nothing.
func TestFailedLoginsAreLimited(t *testing.T) { onBoth(t, testFailedLoginsAreLimited) }

func testFailedLoginsAreLimited(t *testing.T, s *shop) {
	s = limited(t, s, limits.DefaultRules, nil)
	const wrong, right = `{"username":"user2","password":"x"}`, `{"username":"user2","password":"pass2"}`
	for range 10 {
		if status, body, _ := s.call(t, 0, "POST", "/login", right); status != 200 {
			t.Errorf("right password: %d %s", status, body)
		}
	}
	for i := range 5 {
		s.expect(t, 0, "POST", "/login", wrong, 403, authFail)
		s.awaitCounted(t, "/limits/login_failed?user=user2", fmt.Sprintf(`"remaining":%d,`, 4-i))
	}
	h := s.expect(t, 0, "POST", "/login", right, 429, tooMany)
	if h.Get("Retry-After") < "5" || h.Get("RateLimit-Policy") != `"login_failed by user";q=5;w=60` ||
		!strings.HasPrefix(h.Get("RateLimit"), `"login_failed by user";r=0;t=`) {
		t.Errorf("headers %v", h)
	}
	status, _, _ := s.call(t, 0, "POST", "/login", `{"username":"user3","password":"pass3"}`)
	if status != 200 {
		t.Errorf("another user: %d", status)
	}
	s.expect(t, 1, "DELETE", "/limits/login_failed?user=user2", "", 204, "")
	if status, body, _ := s.call(t, 0, "POST", "/login", right); status != 200 {
		t.Errorf("after the lift: %d %s", status, body)
	}
}

// awaitCounted waits until the answer to root has a text.
func (s *shop) awaitCounted(t *testing.T, path, text string) {
	t.Helper()
	testkit.Until(t, text+" from "+path, func() bool {
		_, body, _ := s.call(t, 1, "GET", path, "")
		return strings.Contains(body, text)
	})
}

// Only a trusted proxy's X-Forwarded-For counts.
func TestFailedLoginsOfAnAddressAreLimited(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		s := limited(t, openOnLoop(t, "unix", redistest.Start(t).Socket), "login_failed by ip 2/m",
			func(cfg *Config) {
				if trusted {
					cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
				}
			})
		counted := map[bool]string{false: "127.0.0.1", true: "198.51.100.7"}[trusted]
		for i := range 2 {
			s.expect(t, 0, "POST", "/login", `{"username":"a","password":"x"}`, 403, authFail,
				"X-Forwarded-For", "198.51.100.7")
			s.awaitCounted(t, "/limits/login_failed?ip="+counted, fmt.Sprintf(`"remaining":%d,`, 1-i))
		}
		status, _, _ := s.call(t, 0, "POST", "/login", `{"username":"user2","password":"pass2"}`,
			"X-Forwarded-For", "198.51.100.8")
		if refused := status == 429; refused == trusted {
			t.Errorf("trusted %v: another client gets %d", trusted, status)
		}
		s.expect(t, 0, "POST", "/login", `{"username":"user2","password":"pass2"}`, 429, tooMany,
			"X-Forwarded-For", "198.51.100.7")
		s.expect(t, 0, "POST", "/login", "{", 429, tooMany, "X-Forwarded-For", "198.51.100.7")
	}
}

// Orders and changes to carts have limits where there is a rule. The body of a refused one is not read.
func TestOrdersAndCartsAreLimited(t *testing.T) { onBoth(t, testOrdersAndCartsAreLimited) }

func testOrdersAndCartsAreLimited(t *testing.T, s *shop) {
	s = limited(t, s, "order by user 1/h; cart by user 2/h", nil)
	cart, order := "/carts/"+s.cartOf(2), `{"cart_id":"`+s.cartOf(2)+`"}`
	for i := range 2 {
		s.expect(t, 2, "PATCH", cart, `{"food_id":1,"count":1}`, 204, "")
		s.awaitCounted(t, "/limits/cart?user=2", fmt.Sprintf(`"remaining":%d,`, 1-i))
	}
	s.expect(t, 2, "PATCH", cart, `{"food_id":1,"count":1}`, 429, tooMany)
	s.expect(t, 2, "PATCH", cart, "{", 429, tooMany)
	s.expect(t, 2, "POST", "/orders", order, 200, `{"id":"`+s.cfg.Sale.ID()+`-2"}`)
	s.awaitCounted(t, "/limits/order?user=2", `"remaining":0,`)
	s.expect(t, 2, "POST", "/orders", order, 429, tooMany)
	s.expect(t, 2, "POST", "/orders", "", 429, tooMany)
	s.expect(t, 3, "POST", "/orders", `{"cart_id":"`+s.cartOf(3)+`"}`, 403, cartEmpty)
}

// Texts of a user have a limit by default; those of a program, which sends for many, have none.
func TestMessagesAreLimited(t *testing.T) { onBoth(t, testMessagesAreLimited) }

func testMessagesAreLimited(t *testing.T, s *shop) {
	s.withRepeats(t)
	s = limited(t, s, limits.DefaultRules, nil)
	s.expect(t, 2, "POST", "/repeats", `{"text":7}`, 400, malformed)
	for i := range 60 {
		s.expect(t, 2, "POST", "/repeats", `{"text":"x"}`, 200, fmt.Sprintf(`{"count":%d}`, i))
	}
	s.awaitCounted(t, "/limits/message?user=2", `"remaining":0,`)
	s.expect(t, 2, "POST", "/repeats", `{"text":"x"}`, 429, tooMany)
	s.expect(t, 2, "POST", "/repeats", `{"text":7}`, 429, tooMany)
	s.expect(t, 3, "POST", "/repeats", `{"text":"x"}`, 200, `{"count":60}`)
	for i := range 70 {
		s.expect(t, 0, "POST", "/repeats", `{"text":"x"}`, 200, fmt.Sprintf(`{"count":%d}`, 61+i),
			"Authorization", "Bearer "+serviceToken)
	}
}

// A sender in VK over a rate gets "ok", or VK would send the message again; it is not counted as a text, and
// leaves a figure and a line in the log. The address is that of VK, so it does not count.
func TestSendersInVKAreLimited(t *testing.T) { onBoth(t, testSendersInVKAreLimited) }

func testSendersInVKAreLimited(t *testing.T, s *shop) {
	s.withRepeats(t)
	s = limited(t, s, "message by vk 1/h; message by ip 1/h; message by vk of -8 unlimited", nil)
	log := testkit.CaptureLog(t)
	const message = `{"message":{"peer_id":2000000001,"from_id":%d,"text":"hi"}}`
	s.vk(t, vkMessageNew("a", fmt.Sprintf(message, 7)), 200, "ok")
	s.awaitCounted(t, "/limits/message?vk=7", `"remaining":0,`)
	s.vk(t, vkMessageNew("b", fmt.Sprintf(message, 7)), 200, "ok") // refused
	s.vk(t, vkMessageNew("c", fmt.Sprintf(message, -8)), 200, "ok")
	s.expect(t, 2, "POST", "/repeats", `{"text":"hi"}`, 200, `{"count":2}`)
	if got := labelled(&s.figures.LimitsRefused); !maps.Equal(got, map[string]uint64{"message": 1}) {
		t.Errorf("counted %v, want 1 of message", got)
	}
	if text := log.String(); !strings.Contains(text, "calls are refused by a rate limit") ||
		!strings.Contains(text, "last_vk=7") {
		t.Errorf("log %q", text)
	}
	s.expect(t, 1, "DELETE", "/limits/message?vk=7", "", 204, "")
	s.vk(t, vkMessageNew("d", fmt.Sprintf(message, 7)), 200, "ok")
	s.awaitCounted(t, "/limits/message?vk=7", `"remaining":0,`)
}

// One user's changes to carts are bounded in each worker, without a rule and without Redis.
func TestCartAddsAreBounded(t *testing.T) { onBoth(t, testCartAddsAreBounded) }

func testCartAddsAreBounded(t *testing.T, s *shop) {
	s = limited(t, s, "", func(cfg *Config) { cfg.CartAddsMinute = 3 })
	cart := "/carts/" + s.cartOf(2)
	refused, minute := 0, time.Now().Unix()/60
	for range 8 { // a new minute of the clock may begin once
		status, body, h := s.call(t, 2, "PATCH", cart, `{"food_id":1,"count":0}`)
		if status == 429 {
			refused++
			if body != tooMany || h.Get("Retry-After") == "" {
				t.Errorf("%s, %v", body, h)
			}
		} else if status != 204 {
			t.Errorf("%d %s", status, body)
		}
	}
	if refused < 2 || refused > 5 {
		t.Errorf("%d of 8 changes are refused, want 5", refused)
	}
	if status, _, _ := s.call(t, 2, "PATCH", cart, "{"); status == 429 {
		refused++
	} else if time.Now().Unix()/60 == minute {
		t.Errorf("a body that cannot be read: %d", status)
	}
	want := map[string]uint64{"cart-adds": uint64(refused)}
	if got := labelled(&s.figures.LimitsRefused); !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
	s.expect(t, 3, "PATCH", "/carts/"+s.cartOf(3), `{"food_id":1,"count":0}`, 204, "")
}

func TestLimitsService(t *testing.T) { onBoth(t, testLimitsService) }

func testLimitsService(t *testing.T, s *shop) {
	const path = "/limits/check"
	s = limited(t, s, "mail by email 3/m; mail by ip 100/h; sms by user 1/m; mail by email of vip unlimited; "+
		"mail by user 1/m shadow; order by user 5/m; order by ip 5/m; login_failed by user 5/m", nil)
	right := []string{"Authorization", "Bearer " + serviceToken}
	mail := func(cost string) string {
		return `{"event":"mail","features":{"email":"A@x.example"}` + cost + `}`
	}
	s.expect(t, 0, "POST", path, mail(""), 401, invalidToken)
	h := s.expect(t, 0, "POST", path, mail(""), 200,
		`{"allowed":true,"limit":3,"window":60,"remaining":2,"retry_after":0,"reset":61}`, right...)
	if h.Get("RateLimit-Policy") != `"mail by email";q=3;w=60` ||
		h.Get("RateLimit") != `"mail by email";r=2;t=61` {
		t.Errorf("headers %v", h)
	}
	h = s.expect(t, 0, "POST", path, mail(`,"cost":3`), 429, tooMany, right...)
	if h.Get("Retry-After") == "" || h.Get("RateLimit-Policy") != `"mail by email";q=3;w=60` {
		t.Errorf("headers %v", h)
	}
	h = s.expect(t, 0, "POST", path, mail(`,"cost":4`), 400, neverFits, right...)
	if h.Get("Retry-After") != "" {
		t.Errorf("headers %v", h)
	}
	s.expect(t, 0, "POST", path, `{"event":"mail","features":{"email":"vip","user":"7"},"cost":4000000}`, 200,
		`{"allowed":true}`, right...) // unlimited, and in shadow
	if got := labelled(&s.figures.LimitsRefused); !maps.Equal(got, map[string]uint64{"mail": 1}) {
		t.Errorf("counted %v, want 1 of mail", got)
	}
	if _, body, _ := s.call(t, 0, "POST", path, mail(`,"cost":2`), right...); !strings.HasPrefix(body,
		`{"allowed":true,"limit":3,"window":60,"remaining":0,`) {
		t.Error(body)
	}
	s.expect(t, 0, "POST", path, mail(""), 429, tooMany, right...)
	if _, body, _ := s.call(t, 1, "GET", "/limits/mail?email=a@x.example", ""); !strings.HasPrefix(body,
		`{"allowed":false,"limit":3,"window":60,"remaining":0,"retry_after":`) {
		t.Error(body)
	}
	s.expect(t, 0, "DELETE", "/limits/mail?email=a@x.example", "", 204, "", right...)
	s.expect(t, 2, "DELETE", "/limits/mail?email=a@x.example", "", 403, notAllowed)
	s.expect(t, 0, "GET", "/limits/mail?email=a@x.example", "", 200,
		`{"allowed":true,"limit":3,"window":60,"remaining":3,"retry_after":0,"reset":0}`, right...)

	// users ask about themselves only
	s.expect(t, 2, "POST", path, mail(""), 403, notAllowed)
	s.expect(t, 2, "POST", path, `{"event":"sms","features":{"user":"3"}}`, 403, notAllowed)
	s.expect(t, 2, "POST", path, `{"event":"mail","features":{"ip":"192.0.2.9"}}`, 403, notAllowed)
	s.expect(t, 2, "GET", "/limits/sms?user=3", "", 403, notAllowed)
	s.expect(t, 2, "POST", path, `{"event":"sms","features":{"user":"2"}}`, 200,
		`{"allowed":true,"limit":1,"window":60,"remaining":0,"retry_after":61,"reset":61}`)
	s.expect(t, 2, "POST", path, `{"event":"sms","features":{"user":"2"}}`, 429, tooMany)

	// they count nothing for others at their address, nor what the server counts itself
	const own = `{"event":"mail","features":{"ip":"127.0.0.1"},"cost":%d}`
	s.expect(t, 2, "POST", path, fmt.Sprintf(own, 1), 403, notAllowed)
	s.expect(t, 2, "POST", path, fmt.Sprintf(own, 0), 200,
		`{"allowed":true,"limit":100,"window":3600,"remaining":100,"retry_after":0,"reset":0}`)
	s.expect(t, 2, "POST", path, `{"event":"order","features":{"user":"2"}}`, 403, notAllowed)
	const unused = `{"allowed":true,"limit":5,"window":60,"remaining":5,"retry_after":0,"reset":0}`
	s.expect(t, 2, "POST", path, `{"event":"order","features":{"user":"2","ip":"127.0.0.1"},"cost":0}`, 200,
		unused)
	// a name may look like an id
	s.expect(t, 2, "POST", path, `{"event":"login_failed","features":{"user":"2"},"cost":0}`, 403, notAllowed)
	s.expect(t, 2, "GET", "/limits/login_failed?user=2", "", 403, notAllowed)
	s.expect(t, 1, "GET", "/limits/login_failed?user=2", "", 200, unused)

	// where no rate can refuse there is none to tell of
	h = s.expect(t, 0, "GET", "/limits/mail?email=vip", "", 200, `{"allowed":true}`, right...)
	if h.Get("RateLimit") != "" {
		t.Errorf("headers %v", h)
	}
	s.expect(t, 0, "GET", "/limits/mail?user=7", "", 200, `{"allowed":true}`, right...)
	s.expect(t, 0, "DELETE", "/limits/login_failed?user="+strings.Repeat("x", 300), "", 204, "", right...)
}

func TestLimitsServiceRefuses(t *testing.T) {
	s := limited(t, open(t, "unix", redistest.Start(t).Socket), "mail by email 3/m; mail by ip 100/h", nil)
	const path = "/limits/check"
	for body, want := range map[string]string{
		`{"event":"mail","feature":{"email":"x"}}`: unknownTo("feature", "event", "features", "cost"),
		"": empty, "[]": malformed, "{}": malformed, `{"event":"mail"}`: malformed,
		`{"event":"mail","features":{}}`:                           noLimit,
		`{"event":"mail","features":[]}`:                           malformed,
		`{"event":"mail","features":{"email":null}}`:               malformed,
		`{"event":"mail","features":{"email":1}}`:                  malformed,
		`{"event":"mail","features":null}`:                         malformed,
		`{"event":1,"features":{"email":"x"}}`:                     malformed,
		`{"event":"mail","features":{"email":"x"},"cost":-1}`:      malformed,
		`{"event":"mail","features":{"email":"x"},"cost":"1"}`:     malformed,
		`{"event":"mail","features":{"email":"x"},"cost":4000001}`: malformed,
		`{"event":"mail","features":{"email":"x"}} x`:              malformed,
		`{"event":"other","features":{"email":"x"}}`:               noLimit,
		`{"event":"mail","features":{"user":"x"}}`:                 noLimit,
		`{"event":"mail","features":{"ip":"x"}}`:                   badRequestBody,
		`{"event":"mail","features":{"shoe":"x","email":"x"}}`:     badRequestBody,
	} {
		status := 400
		if want == noLimit {
			status = 404
		}
		s.expect(t, 1, "POST", path, body, status, want)
	}
	s.expect(t, 1, "GET", "/limits/mail", "", 404, noLimit)
	s.expect(t, 1, "GET", "/limits/other?ip=192.0.2.1", "", 404, noLimit)
	s.expect(t, 1, "DELETE", "/limits/mail?ip=x", "", 400, badRequestBody)
	s.expect(t, 1, "GET", path, "", 405, `{"code":"METHOD_NOT_ALLOWED","message":"方法不允许"}`)
}

// With Redis away an open rule lets pass and a closed one answers 503.
func TestLimitsWithoutRedis(t *testing.T) {
	server := redistest.New(t)
	s := limited(t, open(t, "unix", server.Socket), "a by user 1/h; login_failed by user 1/h closed", nil)
	server.Kill(t)
	testkit.Until(t, "503", func() bool {
		status, _, _ := s.call(t, 0, "POST", "/login", `{"username":"user2","password":"pass2"}`)
		return status == 503
	})
	s.expect(t, 1, "POST", "/limits/check", `{"event":"a","features":{"user":"x"}}`, 200, `{"allowed":true}`)
	s.expect(t, 1, "POST", "/limits/check", `{"event":"login_failed","features":{"user":"x"}}`, 503,
		unavailable)
}

// The hot calls do not allocate with the default rules and the bound on adds either.
func TestLimitsDoNotAllocate(t *testing.T) {
	s := limited(t, open(t, "unix", redistest.Start(t).Socket), limits.DefaultRules,
		func(cfg *Config) { cfg.CartAddsMinute = 1 << 20 })
	for _, call := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/login", `{"username":"user2","password":"pass2"}`, 200},
		{"PATCH", "/carts/" + s.cartOf(2), `{"food_id":1,"count":-1}`, 204},
		{"POST", "/orders", `{"cart_id":"` + s.cartOf(2) + `"}`, 403},
	} {
		var ctx fasthttp.RequestCtx
		var request fasthttp.Request
		request.Header.SetMethod(call.method)
		request.SetRequestURI(call.path)
		request.SetBodyString(call.body)
		request.Header.Set("Access-Token", s.token(2))
		ctx.Init(&request, nil, nil)
		n := testkit.Allocations(func() {
			ctx.Response.Reset()
			s.handle(&ctx)
		})
		if status := ctx.Response.StatusCode(); status != call.status || n != 0 {
			t.Errorf("%s %s: %d, %v allocations", call.method, call.path, status, n)
		}
	}
}

func TestWholeSeconds(t *testing.T) {
	for d, want := range map[time.Duration]int64{0: 0, 1: 1, time.Second: 1, time.Second + 1: 2} {
		if got := wholeSeconds(d); got != want {
			t.Errorf("%v: %d, want %d", d, got, want)
		}
	}
}
