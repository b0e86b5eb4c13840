package load

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"flashsale/internal/catalog"
	"flashsale/scripts/bench/sale"
)

func TestPausesGrowToTheirLimit(t *testing.T) {
	least := func(int64) int64 { return 0 }
	most := func(n int64) int64 { return n - 1 }
	for n, want := range map[int]time.Duration{1: 50 * time.Millisecond, 2: 100 * time.Millisecond,
		5: 800 * time.Millisecond,
		6: time.Second, 19: time.Second, 100: time.Second} {
		if low, high := settling.pause(n, least), settling.pause(n, most); low != want/2 || high != want {
			t.Errorf("pause %d is %v to %v, want %v to %v", n, low, high, want/2, want)
		}
	}
}

// A user whom no try reached is stranded; an order that no try settled stays unknown; both after as many
// tries as there may be.
func TestTriesAreBounded(t *testing.T) {
	const tries = 3
	for name, test := range map[string]struct {
		step     Step
		statuses []int // of its answers, the last one for all further ones
		want     sale.Outcome
		sent     int // requests of this step
	}{
		"login":           {StepLogin, []int{503}, sale.Stranded, tries},
		"foods":           {StepFoods, []int{503}, sale.Stranded, tries},
		"cart":            {StepCart, []int{500}, sale.Stranded, tries},
		"add":             {StepAdd, []int{503}, sale.Stranded, tries},
		"order":           {StepOrder, []int{503}, sale.Unknown, tries},
		"login at last":   {StepLogin, []int{503, 502, 200}, sale.Placed, 3},
		"login refused":   {StepLogin, []int{503, 403}, sale.NotOrdered, 2},
		"add refused":     {StepAdd, []int{503, 403}, sale.NotOrdered, 2},
		"order at last":   {StepOrder, []int{503, 200}, sale.Placed, 2},
		"order refused":   {StepOrder, []int{503, 403}, sale.Refused, 2},
		"order, no token": {StepOrder, []int{503, 401}, sale.Unknown, 2}, // leaves the first try open
	} {
		t.Run(name, func(t *testing.T) {
			var sent [StepCount]int
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
			b := newBuyer(newClient([]string{strings.TrimPrefix(shop.URL, "http://")}, nil,
				20*time.Second), Options{},
				[]catalog.Food{{ID: 1}}, newTally(), time.Now())
			b.retries = retrying{triesMax: tries, pauseMin: time.Microsecond, pauseMax: time.Microsecond}
			try := b.buy(t.Context(), catalog.User{ID: 7, Name: "user7", Password: "pass7"}, time.Now())
			b.client.close()
			shop.Close()
			if try.Outcome != test.want || sent[test.step] != test.sent {
				t.Errorf("the outcome is %v after %d requests, want %v after %d", try.Outcome,
					sent[test.step], test.want, test.sent)
			}
			if test.step == StepAdd && sent[StepCart] != test.sent {
				t.Errorf("%d carts for %d first adds", sent[StepCart], test.sent)
			}
		})
	}
}

func stepOf(r *http.Request) Step {
	switch {
	case r.Method == "PATCH":
		return StepAdd
	case r.URL.Path == "/login":
		return StepLogin
	case r.URL.Path == "/foods":
		return StepFoods
	case r.URL.Path == "/carts":
		return StepCart
	}
	return StepOrder
}
