package handlers

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// The line of a request that has failed names it by the ID in its reply, and by its trace.
func TestFaultsNameTheRequest(t *testing.T) { onBoth(t, testFaultsNameTheRequest) }

func testFaultsNameTheRequest(t *testing.T, s *shop) {
	cart, token := s.cartOf(2), s.token(2)
	s = s.overTCP(t, func(cfg *Config) {
		trustLoopback(cfg)
		cfg.Keys = nil // so that each check of a token panics
	})
	log := testkit.CaptureLog(t)
	fail := func(method, path string, header ...string) (id string) {
		h := s.expect(t, 2, method, path, `{"food_id":1,"count":1}`, 500,
			`{"code":"INTERNAL_ERROR","message":"内部错误"}`, header...)
		return h.Get(requestIDHeader)
	}
	made := fail("PATCH", "/carts/"+cart+"?access_token="+token)
	given := fail("GET", "/orders", requestIDHeader, "front-1", "Traceparent", traced)
	if !madeID.MatchString(made) || given != "front-1" {
		t.Errorf("answered with the IDs %q and %q", made, given)
	}
	for _, want := range []string{
		"method=PATCH route=/carts/:id request_id=" + made + "\n",
		"method=GET route=/orders request_id=front-1 trace_id=" + traceID + " span_id=" + spanID + "\n",
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log is\n%s\nwithout %s", log, want)
		}
	}
	for _, secret := range []string{cart, token} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

// An error that is not in the table of outcomes has a line of its own.
func TestUnknownErrorIsLogged(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	log := testkit.CaptureLog(t)
	var request fasthttp.Request
	request.SetRequestURI("/carts/a-secret?access_token=another")
	request.Header.SetMethod("PATCH")
	var ctx fasthttp.RequestCtx
	ctx.Init(&request, &net.TCPAddr{}, nil)
	s.replyOutcome(&ctx, errors.New("odd"))
	want := fmt.Sprintf(" level=ERROR msg=\"a request failed\" error=odd method=PATCH route=/carts/:id "+
		"request_id=%s\n", ctx.Response.Header.Peek(requestIDHeader))
	if _, line, _ := strings.Cut(log.String(), " "); " "+line != want {
		t.Errorf("the log is %q, want %q", line, want)
	}
	if ctx.Response.StatusCode() != 500 {
		t.Errorf("answered with %d", ctx.Response.StatusCode())
	}
}

// No client makes a line of the log long, whatever text it sends where.
func TestClientTextsAreCutInTheLog(t *testing.T) { onBoth(t, testClientTextsAreCutInTheLog) }

func testClientTextsAreCutInTheLog(t *testing.T, s *shop) {
	s.withRepeats(t)
	s.withTraffic(t)
	s = s.overTCP(t, trustLoopback)
	s.unchecked()
	log := testkit.CaptureLog(t)
	text := strings.Repeat("long text ", 90)
	path, quoted := strings.Repeat("long-text-", 90), `"`+text+`"`
	for _, call := range []struct{ method, path, body string }{
		{path, "/" + path, quoted},
		{"POST", "/login", `{"username":` + quoted + `,"password":` + quoted + `}`},
		{"PATCH", "/carts/" + path, `{"food_id":` + quoted + `,"count":1}`},
		{"PATCH", "/carts/" + path, `{"food_id":1,"count":1}`},
		{"POST", "/orders", `{"cart_id":` + quoted + `}`},
		{"PUT", "/admin/sale", `{"state":` + quoted + `}`},
		{"POST", "/admin/foods/" + path + "/stock", `{"add":1}`},
		{"POST", "/repeats", `{"text":` + quoted + `}`},
		{"POST", "/vk/callback", `{"type":"message_new","secret":` + quoted + `}`},
		{"POST", "/vk/callback", `{"type":` + quoted + `,"group_id":7,"secret":"` + vkSecret + `"}`},
		{"POST", "/vk/callback", vkMessageNew(text, `{"text":`+quoted+`}`)},
		{"POST", "/vk/callback", vkMessageNew(text, `{"peer_id":1,"text":`+quoted+`}`)},
		{"POST", "/traffic/hit", `{"key":` + quoted + `,"hits":` + quoted + `}`},
		{"GET", "/traffic?key=" + path + "&last=" + path + "&tz=" + path, ""},
		{"DELETE", "/traffic?key=" + path, ""},
		{"POST", "/limits/check", `{"event":` + quoted + `,"name":` + quoted + `}`},
		{"POST", "/blocklist/check", "[" + quoted + "]"},
		{"GET", "/admin/orders?after=" + path, ""},
	} {
		for _, user := range []uint32{0, 1} {
			s.call(t, user, call.method, call.path, call.body, requestIDHeader, path, "Traceparent", path,
				"X-Forwarded-For", path, "User-Agent", path, "Idempotency-Key", path, "Authorization", text)
		}
		s.call(t, 0, call.method, call.path, call.body, "Access-Token", path)
	}
	for _, line := range strings.Split(log.String(), "\n") {
		if len(line) > 1000 {
			t.Errorf("a line has %d bytes: %.200s", len(line), line)
		}
	}
	if !strings.Contains(log.String(), "last_event=\"long text ") {
		t.Errorf("the log has no event: %s", log)
	}
}
