package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

func stepAt(offered, goodput float64, orderP99 time.Duration) rampStep {
	latency := make([]stepLatency, stepCount+1)
	latency[stepOrder].P99 = orderP99.Microseconds()
	return rampStep{Offered: offered, Goodput: goodput, Flows: 300, Placed: 270, Latency: latency}
}

func TestRampStepHolds(t *testing.T) {
	tests := []struct {
		step rampStep
		want string
	}{
		{stepAt(1000, 990, 5*time.Millisecond), ""},
		{stepAt(1000, 950, 50*time.Millisecond), ""},
		{stepAt(1000, 949, 5*time.Millisecond), "at 1000/s only 949 orders/s were placed, less than 95% (270 of 300 flows placed one)"},
		{stepAt(1000, 990, 50100*time.Microsecond), "at 1000/s the p99 of an order was 50.1 ms, more than 50ms"},
	}
	for _, test := range tests {
		if got := test.step.fault(); got != test.want {
			t.Errorf("%v: %q, want %q", test.step, got, test.want)
		}
	}
}

func TestRampOfferedIsByIntendedStarts(t *testing.T) {
	s := newRampStep(&loadReport{OrdersPerSecond: 40}, []time.Duration{time.Second, 2 * time.Second, 2500 * time.Millisecond})
	if s.Offered != 1.2 || s.Goodput != 40 {
		t.Errorf("step = %+v", s)
	}
}

// The shop has 201 users and answers fast, so the ramp ends for want of users: 100 flows, 125 are too many.
func TestRampTakesOtherUsersInEachStep(t *testing.T) {
	s := newShop(builtIn(t, 10, 1000), honest)
	address := s.open(t)
	common := []string{"-addr", address, "-users", "201", "-foods", "10", "-stock", "1000", "-root-password", "secret", "-seed", "7",
		"-ramp", "-duration", "200ms"}
	var stdout, stderr bytes.Buffer
	if code := exitCode(run(append(common, "-rate", "500"), &stdout, &stderr), &stderr); code != 0 {
		t.Fatalf("exit %d: %s", code, &stderr)
	}
	if len(s.orders) != 100 || !strings.Contains(stdout.String(), "  ended: ") || strings.Contains(stdout.String(), "FAIL") {
		t.Errorf("%d orders\n%s", len(s.orders), &stdout)
	}
	stdout.Reset()
	if code := exitCode(run(append(common, "-rate", "5000"), &stdout, &stderr), &stderr); code != exitUsage {
		t.Errorf("exit %d: %s", code, &stdout)
	}
	want := "  knee: not found, no step held; begin lower with -rate\n" +
		"  ended: the next step takes 1000 users who never bought and there are 101; start the server with more -users\n"
	if !strings.Contains(stdout.String(), want) {
		t.Errorf("got\n%s", &stdout)
	}
}

// There are 100 pieces for 100 orders of two on average, so about half of the first step is refused.
func TestRampEndsAtTheKnee(t *testing.T) {
	s := newShop(builtIn(t, 10, 10), honest)
	opt := options{servers: []string{s.open(t)}, concurrency: 10, rate: 500, duration: 200 * time.Millisecond, timeout: time.Minute, seed: 7}
	opt.catalog.Users, opt.catalog.Foods, opt.catalog.Stock, opt.catalog.RootPassword = 1001, 10, 10, "secret"
	sale, err := readSale(context.Background(), options{ramp: true, catalog: opt.catalog})
	if err != nil {
		t.Fatal(err)
	}
	rep, attempts := ramp(context.Background(), opt, sale, sale.free(nil), &bytes.Buffer{})
	if len(rep.Steps) != 1 || rep.Knee != nil || len(attempts) != 100 || rep.Steps[0].Placed != len(s.orders) ||
		!strings.Contains(rep.Ended, "less than 95%") {
		t.Errorf("%d orders, ramp = %+v", len(s.orders), rep)
	}
}
