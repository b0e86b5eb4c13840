package handlers

import (
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
func countedCalls(f *figures.Worker) map[string]float64 {
	found := map[string]float64{}
	for _, v := range f.Calls.Requests() {
		found[strings.Join(v.Labels, " ")] += v.Number
	}
	return found
}

// labelled are the counters that are not 0.
func labelled(l *figures.Labelled) map[string]uint64 {
	found := map[string]uint64{}
	for label, n := range figures.By(l.Values()) {
		if n > 0 {
			found[label] = uint64(n)
		}
	}
	return found
}

// The alert of refusals is about calls of the table: a call that is renamed would be missing there unseen.
func TestAlertNamesCalls(t *testing.T) {
	s := newShop(t, "unix", redistest.Start(t).Socket, nil)
	names := map[string]bool{}
	for _, resource := range s.router.resources {
		for _, line := range resource.routes {
			names[line.Method+" "+line.Pattern] = true
		}
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
		{0, "POST", "/login", rawLogin}, {0, "POST", "/login", rawLogin}, {0, "POST", "/login", "{"},
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
	want := map[string]float64{
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
	checkTimes(t, s.figures)
}

// checkTimes checks that each call has as many times as requests, by class of status.
func checkTimes(t *testing.T, f *figures.Worker) {
	t.Helper()
	byClass := map[string]float64{}
	for _, v := range f.Calls.Requests() {
		byClass[v.Labels[0]+" "+v.Labels[1][:1]+"xx"] += v.Number
	}
	times := map[string]float64{}
	for _, v := range f.Calls.Times() {
		name := strings.Join(v.Labels, " ")
		if times[name] += float64(v.Histogram.Count); v.Histogram.Sum == 0 || v.Histogram.Sum > 60e9 {
			t.Errorf("%s: %d ns in all", name, v.Histogram.Sum)
		}
	}
	if !maps.Equal(times, byClass) {
		t.Errorf("times of %v, requests of %v", times, byClass)
	}
}

// Requests that cannot be read count as other, and a handler that fails counts as 500 of its call.
func TestUnreadAndFailedRequestsAreCounted(t *testing.T) { onBoth(t, testUnreadAndFailedAreCounted) }

func testUnreadAndFailedAreCounted(t *testing.T, s *shop) {
	address := s.listen(t)
	for _, text := range []string{"GET /healthz HTTP/9.9\r\n", getHead + "X: a\n"} {
		c := dial(t, address)
		send(t, c, text)
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
	want := map[string]float64{"other 400": 2, "GET /foods 500": 1, "GET /orders 500": 1}
	if got := countedCalls(s.figures); !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
	reasons := map[string]uint64{"BAD_REQUEST": 2, "INTERNAL_ERROR": 2}
	if got := labelled(&s.figures.Refusals); !maps.Equal(got, reasons) {
		t.Errorf("refusals %v, want %v", got, reasons)
	}
}
