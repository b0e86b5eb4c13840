package main

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/internal/catalog"
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

// climbed makes the steps of a ramp from 100/s on, a second each, by what it is told of each try, with so many users.
func climbed(users int, tries ...rampStep) (rep rampReport, rates []float64, ids []uint32) {
	all := make([]catalog.User, users)
	for i := range all {
		all[i].ID = uint32(i + 1)
	}
	rep.climb(100, time.Second, all, io.Discard, func(rate float64, users []catalog.User) (rampStep, bool) {
		rates = append(rates, rate)
		for _, u := range users {
			ids = append(ids, u.ID)
		}
		if len(rates) > len(tries) {
			return rampStep{}, true
		}
		return tries[len(rates)-1], false
	})
	return rep, rates, ids
}

func TestRampRepeatsStepsInWhichBenchWasLate(t *testing.T) {
	const own = 5 * time.Millisecond
	whole := func(s rampStep, own time.Duration) rampStep {
		s.Flows, s.Placed, s.OwnLateness = 100, 99, own.Microseconds()
		return s
	}
	good := whole(stepAt(100, 99, time.Millisecond), 2*own) // late or not, it holds
	slow, late := whole(stepAt(100, 90, time.Millisecond), own), whole(stepAt(100, 90, time.Millisecond), own+time.Microsecond)
	refused := late
	refused.Placed = 90
	const fault = "at 100/s only 90 orders/s were placed, less than 95% (99 of 100 flows placed one)"
	tests := map[string]struct {
		tries    []rampStep
		rates    []float64
		repeated int
		ended    string
	}{
		"holds":             {[]rampStep{good}, []float64{100, 125}, 0, "ended early by a signal"},
		"the knee":          {[]rampStep{good, slow}, []float64{100, 125}, 0, fault},
		"late once":         {[]rampStep{late, good}, []float64{100, 100, 125}, 1, "ended early by a signal"},
		"late, then slow":   {[]rampStep{late, late, slow}, []float64{100, 100, 100}, 2, fault},
		"late at two steps": {[]rampStep{late, late, good, late, late, slow}, []float64{100, 100, 100, 125, 125, 125}, 4, fault},
		"late for good": {[]rampStep{late, late, late}, []float64{100, 100, 100}, 2,
			fault + "; but bench itself was late in each of 3 tries, so the sale may carry more"},
		"late and refused": {[]rampStep{refused}, []float64{100}, 0, strings.Replace(fault, "99 of", "90 of", 1)},
		"out of users":     {[]rampStep{good, good, good, good}, []float64{100, 125, 156.25, 195.3125}, 0, "the next step takes 245 users who never bought and there are 222; start the server with more -users"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			rep, rates, ids := climbed(800, test.tries...)
			repeated := 0
			for _, s := range rep.Steps {
				if s.Repeated {
					repeated++
				}
			}
			if !slices.Equal(rates, test.rates) || repeated != test.repeated || rep.Ended != test.ended {
				t.Errorf("rates %v, %d repeated, ended %q", rates, repeated, rep.Ended)
			}
			if held := slices.ContainsFunc(test.tries, func(s rampStep) bool { return s.Goodput == good.Goodput }); held != (rep.Knee != nil) {
				t.Errorf("knee = %+v", rep.Knee)
			}
			if unique := slices.Compact(slices.Sorted(slices.Values(ids))); len(unique) != len(ids) {
				t.Errorf("%d users in %d flows", len(unique), len(ids))
			}
		})
	}
}

// The shop has 201 users: 100 flows, and the same again should this process be late; 125 are too many.
func TestRampTakesOtherUsersInEachStep(t *testing.T) {
	s := newShop(builtIn(t, 10, 1000), honest)
	address := s.open(t)
	common := []string{"-addr", address, "-users", "201", "-foods", "10", "-stock", "1000", "-root-password", "secret", "-seed", "7",
		"-ramp", "-duration", "200ms"}
	var stdout, stderr bytes.Buffer
	if code := exitCode(run(append(common, "-rate", "500"), &stdout, &stderr), &stderr); code != 0 {
		t.Fatalf("exit %d: %s", code, &stderr)
	}
	if n := len(s.orders); n != 100 && n != 200 || !strings.Contains(stdout.String(), "  ended: ") || strings.Contains(stdout.String(), "FAIL") {
		t.Errorf("%d orders\n%s", len(s.orders), &stdout)
	}
	stdout.Reset()
	if code := exitCode(run(append(common, "-rate", "5000"), &stdout, &stderr), &stderr); code != exitUsage {
		t.Errorf("exit %d: %s", code, &stdout)
	}
	want := "  knee: not found, no step held; begin lower with -rate\n" +
		"  ended: the next step takes 1000 users who never bought and there are "
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
