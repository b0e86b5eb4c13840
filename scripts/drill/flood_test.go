package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// floodOf floods a server of this handler with two members, and returns what became of it. Of 100 requests a
// second five are due within 50 ms, at 0, 10, 20, 30 and 40 ms.
func floodOf(t *testing.T, handler http.HandlerFunc) (*stack, *tide) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	user := newShopper(strings.TrimPrefix(server.URL, "http://"), 2)
	s := &stack{probes: &probes{}}
	next := func(int, int) call { return call{method: "POST", path: "/carts"} }
	f := flood{crowd: crowdOf([]*shopper{user, user}), right: []answer{"200"}, next: next}
	return s, s.run(t.Context(), f, 50*time.Millisecond, 100)
}

func TestFloodCountsAnswers(t *testing.T) {
	var calls atomic.Int64
	s, seen := floodOf(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 2 {
			http.Error(w, `{"code":"CART_EMPTY"}`, http.StatusForbidden)
		}
	})
	if calls.Load() != 5 || seen.sent != 5 || seen.answers["200"] != 4 || seen.answers["403 CART_EMPTY"] != 1 {
		t.Errorf("%d calls were counted as %+v", calls.Load(), seen)
	}
	if len(s.broken) != 1 || s.broken[0] != "1 of 5 requests were answered 403 CART_EMPTY" {
		t.Errorf("broken: %q", s.broken)
	}
}

func TestFloodSeesLostConnections(t *testing.T) {
	s, seen := floodOf(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if seen.sent == 0 || seen.answers[noAnswer] != seen.sent || len(s.broken) != 1 {
		t.Errorf("%+v, broken: %q", seen, s.broken)
	}
}

func TestPercentile99(t *testing.T) {
	var times []time.Duration
	for i := range 1000 {
		times = append(times, time.Duration(i))
	}
	if got := percentile99(times); got != 990 {
		t.Errorf("p99 of 0 to 999 is %d", got)
	}
	if percentile99(nil) != 0 || percentile99(times[7:8]) != 7 {
		t.Error("p99 without times, or of one time")
	}
}

// Only the long form judges times, and only when they are bad each time.
func TestContrast(t *testing.T) {
	harmless := tide{others: 10 * time.Millisecond}
	good := tide{others: slowdownMax*harmless.others + slowdownFloor}
	late := tide{others: good.others + 1}
	for _, test := range []struct {
		long  bool
		tides []tide
		want  string
	}{
		{false, []tide{late}, ""},
		{true, []tide{good}, ""},
		{true, []tide{late, late, good}, ""},
		{true, []tide{late, late, late}, "other buyers: p99 25.0 ms under the attack, the bound is 25.0 ms"},
	} {
		s, tries := &stack{long: test.long}, 0
		err := s.contrast(func() (*tide, error) {
			tries++
			return &test.tides[tries-1], nil
		}, func(float64) *tide { return &harmless })
		if err != nil || tries != len(test.tides) || strings.Join(s.broken, "|") != test.want {
			t.Errorf("%d tries of %d, broken %q, want %q; %v", tries, len(test.tides), s.broken, test.want, err)
		}
	}
}
