package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"flashsale/internal/catalog"
)

const settledCheck = "every user of this run who was not refused has exactly one order"

func TestPausesGrowToTheirLimit(t *testing.T) {
	least := func(int64) int64 { return 0 }
	most := func(n int64) int64 { return n - 1 }
	for n, want := range map[int]time.Duration{1: 50 * time.Millisecond, 2: 100 * time.Millisecond, 5: 800 * time.Millisecond,
		6: time.Second, 19: time.Second, 100: time.Second} {
		if low, high := settling.pause(n, least), settling.pause(n, most); low != want/2 || high != want {
			t.Errorf("pause %d is %v to %v, want %v to %v", n, low, high, want/2, want)
		}
	}
}

func TestRetrySettles(t *testing.T) {
	tests := map[string]struct {
		lie     lie
		retries []eventCount
		settled int
		failed  []string
	}{
		"nothing open":         {honest, []eventCount{}, 0, nil},
		"order answered 503":   {failsOrder, []eventCount{{Step: "order", Name: retryRequest, Count: 1}}, 1, nil},
		"order without answer": {hangsUp, nil, 0, nil}, // the client itself sends it again, on a new connection
		"add answered 503":     {failsAdd, []eventCount{{Step: "add", Name: retryCart, Count: 1}}, 0, nil},
		"key not known": {forgetsKey, []eventCount{{Step: "order", Name: retryRequest, Count: 1}}, 1,
			[]string{"no order came from nowhere, none that was refused"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShop(builtIn(t, 10, 1000), test.lie)
			rep, stderr, code := bench(t, []string{s.open(t)}, 10, 1000, "-retry")
			if got := failed(rep.Audit); !reflect.DeepEqual(got, test.failed) || (code == 0) != (test.failed == nil) || len(rep.Audit) != 11 {
				t.Fatalf("exit %d, failed checks %q; %s", code, got, stderr)
			}
			l := rep.Load
			if l.Placed+l.Refused != 100 || l.Unknown != 0 || len(s.orders) != 100 || l.Settling.Stranded != 0 || l.Settling.Settled != test.settled {
				t.Errorf("load %+v, settling %+v", l, l.Settling)
			}
			if test.retries != nil && !reflect.DeepEqual(l.Settling.Retries, test.retries) {
				t.Errorf("retries %+v, want %+v", l.Settling.Retries, test.retries)
			}
		})
	}
}

// Whom no try reached is stranded, one whose order no try settled stays unknown, after as many tries as there may be.
func TestTriesAreBounded(t *testing.T) {
	const tries = 3
	for name, test := range map[string]struct {
		step     step
		statuses []int // of its answers, the last one for all further ones
		want     outcome
		sent     int // requests of this step
	}{
		"login":           {stepLogin, []int{503}, stranded, tries},
		"foods":           {stepFoods, []int{503}, stranded, tries},
		"cart":            {stepCart, []int{500}, stranded, tries},
		"add":             {stepAdd, []int{503}, stranded, tries},
		"order":           {stepOrder, []int{503}, unknown, tries},
		"login at last":   {stepLogin, []int{503, 502, 200}, placed, 3},
		"login refused":   {stepLogin, []int{503, 403}, notOrdered, 2},
		"add refused":     {stepAdd, []int{503, 403}, notOrdered, 2},
		"order at last":   {stepOrder, []int{503, 200}, placed, 2},
		"order refused":   {stepOrder, []int{503, 403}, refused, 2},
		"order, no token": {stepOrder, []int{503, 401}, unknown, 2}, // says nothing of the first try
	} {
		t.Run(name, func(t *testing.T) {
			var sent [stepCount]int
			shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				s := stepOf(r)
				status := successOf[s]
				if s == test.step {
					status = test.statuses[min(sent[s], len(test.statuses)-1)]
				}
				sent[s]++
				w.WriteHeader(status)
				if status == 200 {
					io.WriteString(w, `{"access_token":"t","cart_id":"c","id":"o"}`)
				}
			}))
			b := newBuyer(newClient([]string{strings.TrimPrefix(shop.URL, "http://")}, nil, 20*time.Second), options{},
				[]catalog.Food{{ID: 1}}, newTally(), time.Now())
			b.retries = retrying{triesMax: tries, pauseMin: time.Microsecond, pauseMax: time.Microsecond}
			try := b.buy(t.Context(), catalog.User{ID: 7, Name: "user7", Password: "pass7"}, time.Now())
			b.client.close()
			shop.Close()
			if try.outcome != test.want || sent[test.step] != test.sent {
				t.Errorf("the outcome is %v after %d requests, want %v after %d", try.outcome, sent[test.step], test.want, test.sent)
			}
			if test.step == stepAdd && sent[stepCart] != test.sent {
				t.Errorf("%d carts for %d first adds", sent[stepCart], test.sent)
			}
		})
	}
}

func stepOf(r *http.Request) step {
	switch {
	case r.Method == "PATCH":
		return stepAdd
	case r.URL.Path == "/login":
		return stepLogin
	case r.URL.Path == "/foods":
		return stepFoods
	case r.URL.Path == "/carts":
		return stepCart
	}
	return stepOrder
}

func TestSettledCheck(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*evidence)
		want  []string
	}{
		"sound":            {func(*evidence) {}, nil},
		"unknown and lost": {func(ev *evidence) { ev.orders = ev.orders[:3] }, []string{"user 5 has 0 orders; the outcome of its flow: unknown"}},
		"placed and lost": {func(ev *evidence) { ev.orders = ev.orders[3:] }, []string{
			"user 3 has 0 orders; the outcome of its flow: placed", "user 4 has 0 orders; the outcome of its flow: placed"}},
		"twice":    {func(ev *evidence) { ev.orders[0].UserID = 5 }, []string{"user 5 has 2 orders; the outcome of its flow: unknown"}},
		"stranded": {func(ev *evidence) { ev.attempts[4].outcome = stranded }, []string{"user 7 has 0 orders; the outcome of its flow: stranded"}},
	} {
		t.Run(name, func(t *testing.T) {
			ev := soundEvidence()
			ev.retried = true
			test.spoil(ev)
			checks := ev.checks()
			c := checks[len(checks)-1]
			examined := 3
			if name == "stranded" {
				examined = 4
			}
			if len(checks) != 11 || c.Name != settledCheck || c.Examined != examined || !reflect.DeepEqual(c.Examples, test.want) {
				t.Errorf("%+v, want %q", c, test.want)
			}
		})
	}
}
