package handlers

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"flashsale/internal/observe/figures"
	"flashsale/redisx/redistest"
	"flashsale/scripts/grafana"
)

// countedCalls are the requests so far by call and status, as "GET /foods 200".
func countedCalls(f *figures.Worker) map[string]uint64 {
	found := map[string]uint64{}
	for call := range f.Calls.All() {
		for status, n := range call.Requests {
			found[fmt.Sprint(call.Name, " ", status)] += n
		}
	}
	return found
}

// labelled are the counters that are not 0.
func labelled(l *figures.Labelled) map[string]uint64 {
	found := map[string]uint64{}
	for label, n := range l.All() {
		if n > 0 {
			found[label] += n
		}
	}
	return found
}

// The alert of refusals is about calls of the table: a call that is renamed would be missing there unseen.
func TestAlertNamesCalls(t *testing.T) {
	s := newShop(t, "unix", redistest.Start(t).Socket, nil)
	names := map[string]bool{}
	for call := range s.figures.Calls.All() {
		names[call.Name] = true
	}
	for _, list := range regexp.MustCompile(`call=~"(.*)"`).FindAllStringSubmatch(grafana.Alerts, -1) {
		for name := range strings.SplitSeq(list[1], "|") {
			if !names[name] {
				t.Errorf("%q is no call of the table", name)
			}
		}
	}
}

// Each request counts once, under its call and status, whichever engine has read it and wherever it is
// answered: on the loop, later, or on a goroutine.
func TestRequestsAreCounted(t *testing.T) { onBoth(t, testRequestsAreCounted) }

func testRequestsAreCounted(t *testing.T, s *shop) {
	cart := s.cartOf(2)
	order := `{"cart_id":"` + cart + `"}`
	for _, call := range []struct {
		user               uint32
		method, path, body string
	}{
		{0, "POST", "/login", loginBody}, {0, "POST", "/login", loginBody}, {0, "POST", "/login", "{"},
		{2, "GET", "/foods", ""}, {0, "GET", "/foods", ""}, {2, "HEAD", "/foods", ""},
		{2, "POST", "/carts", "{}"},
		{2, "PATCH", "/carts/" + cart, `{"food_id":1,"count":1}`},
		{2, "PATCH", "/carts/" + cart, `{"food_id":1,"count":9}`}, // its outcome is there at once
		{2, "PATCH", "/carts/nonsense", `{"food_id":1,"count":1}`},
		{2, "POST", "/orders", order}, {2, "POST", "/orders", order},
		{2, "GET", "/orders", ""}, {1, "GET", "/admin/orders", ""}, {2, "GET", "/admin/orders", ""},
		{0, "GET", "/healthz", ""}, {0, "DELETE", "/orders", ""}, {0, "OPTIONS", "/orders", ""},
		{0, "GET", "/nowhere", ""},
	} {
		s.call(t, call.user, call.method, call.path, call.body)
	}
	want := map[string]uint64{
		"POST /login 200": 2, "POST /login 400": 1, "GET /foods 200": 2, "GET /foods 401": 1,
		"POST /carts 200": 1, "PATCH /carts/:id 204": 1, "PATCH /carts/:id 403": 1, "PATCH /carts/:id 404": 1,
		"POST /orders 200": 1, "POST /orders 403": 1, "GET /orders 200": 1, "GET /admin/orders 200": 1,
		"GET /admin/orders 401": 1, "GET /healthz 200": 1, "other 405": 1, "other 204": 1, "other 404": 1,
	}
	if got := countedCalls(s.figures); !maps.Equal(got, want) {
		t.Errorf("counted %v,\nwant %v", got, want)
	}
	reasons := map[string]uint64{
		"MALFORMED_JSON": 1, "INVALID_ACCESS_TOKEN": 2, "FOOD_OUT_OF_LIMIT": 1, "CART_NOT_FOUND": 1,
		"ORDER_OUT_OF_LIMIT": 1, "METHOD_NOT_ALLOWED": 1, "NOT_FOUND": 1,
	}
	if got := labelled(&s.figures.Refusals); !maps.Equal(got, reasons) {
		t.Errorf("refusals %v,\nwant %v", got, reasons)
	}
	for call := range s.figures.Calls.All() {
		checkTimes(t, call)
	}
}

// checkTimes checks that each class of status has as many times as requests.
func checkTimes(t *testing.T, call figures.Call) {
	t.Helper()
	byClass := map[int]uint64{}
	for status, n := range call.Requests {
		byClass[status/100] += n
	}
	for class, n := range byClass {
		if h := call.Times[class]; h.Count != n || h.Sum == 0 || h.Sum > 60e9 {
			t.Errorf("%s: %d times of %dxx, %d ns in all; want %d", call.Name, h.Count, class, h.Sum, n)
		}
	}
	if len(byClass) != len(call.Times) {
		t.Errorf("%s: times of %v, requests of %v", call.Name, call.Times, byClass)
	}
}

// Requests that cannot be read count as other, and a handler that fails counts as 500 of its call.
func TestUnreadAndFailedRequestsAreCounted(t *testing.T) { onBoth(t, testUnreadAndFailedAreCounted) }

func testUnreadAndFailedAreCounted(t *testing.T, s *shop) {
	address := s.listen(t)
	for _, text := range []string{"GET /healthz HTTP/9.9\r\n", getHead + "X: a\n"} {
		c := dial(t, address)
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		expectRefusal(t, c, 400, badRequestBody)
	}
	s.do(func() {
		for _, path := range []string{"/foods", "/orders"} {
			s.router.find([]byte(path)).route(methodGet).Handle = func(*fasthttp.RequestCtx, Call) {
				panic("a fault")
			}
		}
	})
	s.call(t, 2, "GET", "/foods", "")
	s.call(t, 2, "GET", "/orders", "")
	want := map[string]uint64{"other 400": 2, "GET /foods 500": 1, "GET /orders 500": 1}
	if got := countedCalls(s.figures); !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
	reasons := map[string]uint64{"BAD_REQUEST": 2, "INTERNAL_ERROR": 2}
	if got := labelled(&s.figures.Refusals); !maps.Equal(got, reasons) {
		t.Errorf("refusals %v, want %v", got, reasons)
	}
}
