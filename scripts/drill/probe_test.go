package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"flashsale/internal/testkit"
)

// A drill that fails while its probes rest ends them, at once.
func TestProbesThatRestEnd(t *testing.T) {
	var calls atomic.Int64
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		_, _ = w.Write([]byte("{}"))
	}))
	defer shop.Close()
	one := &server{address: strings.TrimPrefix(shop.URL, "http://")}
	p, err := startProbes(t.Context(), []*server{one}, 2)
	if err != nil {
		t.Fatal(err)
	}
	asked := func(what string) {
		before := calls.Load()
		testkit.Until(t, what, func() bool { return calls.Load() > before })
	}
	asked("question of a probe")
	resume := p.rest(one)
	if len(resume) != 2 {
		t.Fatalf("%d probes rest", len(resume))
	}
	resting := p.list[1]
	before := resting.answered
	if err := resume[0](); err != nil {
		t.Fatal(err)
	}
	asked("question of the one that goes on")
	if resting.answered != before {
		t.Error("the probe that rests has asked")
	}

	ended, end := context.WithTimeout(context.Background(), testkit.Patience)
	go func() {
		p.stop()
		end()
	}()
	<-ended.Done()
	if ended.Err() != context.Canceled {
		t.Error("the probe that rests does not end")
	}
}
