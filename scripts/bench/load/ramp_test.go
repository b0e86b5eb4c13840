package load

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/internal/catalog"
)

func stepAt(offered, goodput float64, orderP99 time.Duration) RampStep {
	latency := make([]StepLatency, StepCount+1)
	latency[StepOrder].P99 = orderP99.Microseconds()
	return RampStep{Offered: offered, Goodput: goodput, Flows: 300, Placed: 270, Latency: latency}
}

func TestRampStepHolds(t *testing.T) {
	tests := []struct {
		step RampStep
		want string
	}{
		{stepAt(1000, 990, 5*time.Millisecond), ""},
		{stepAt(1000, 950, 50*time.Millisecond), ""},
		{stepAt(1000, 949, 5*time.Millisecond),
			"at 1000/s only 949 orders/s were placed, less than 95% (270 of 300 flows placed one)"},
		{stepAt(1000, 990, 50100*time.Microsecond),
			"at 1000/s the p99 of an order was 50.1 ms, more than 50ms"},
	}
	for _, test := range tests {
		if got := test.step.fault(); got != test.want {
			t.Errorf("%v: %q, want %q", test.step, got, test.want)
		}
	}
}

func TestRampOfferedIsByIntendedStarts(t *testing.T) {
	s := newRampStep(&Report{OrdersPerSecond: 40},
		[]time.Duration{time.Second, 2 * time.Second, 2500 * time.Millisecond})
	if s.Offered != 1.2 || s.Goodput != 40 {
		t.Errorf("step = %+v", s)
	}
}

// climbed makes the steps of a ramp from 100/s on, a second each, by what it is told of each try, with so
// many users.
func climbed(users int, tries ...RampStep) (rep RampReport, rates []float64, ids []uint32) {
	all := make([]catalog.User, users)
	for i := range all {
		all[i].ID = uint32(i + 1)
	}
	rep.climb(100, time.Second, all, io.Discard, func(rate float64, users []catalog.User) (RampStep, bool) {
		rates = append(rates, rate)
		for _, u := range users {
			ids = append(ids, u.ID)
		}
		if len(rates) > len(tries) {
			return RampStep{}, true
		}
		return tries[len(rates)-1], false
	})
	return rep, rates, ids
}

func TestRampRepeatsStepsInWhichBenchWasLate(t *testing.T) {
	const own = 5 * time.Millisecond
	whole := func(s RampStep, own time.Duration) RampStep {
		s.Flows, s.Placed, s.OwnLateness = 100, 99, own.Microseconds()
		return s
	}
	good := whole(stepAt(100, 99, time.Millisecond), 2*own) // late or not, it holds
	slow, late := whole(stepAt(100, 90, time.Millisecond), own),
		whole(stepAt(100, 90, time.Millisecond), own+time.Microsecond)
	refused := late
	refused.Placed = 90
	const fault = "at 100/s only 90 orders/s were placed, less than 95% (99 of 100 flows placed one)"
	tests := map[string]struct {
		tries    []RampStep
		rates    []float64
		repeated int
		ended    string
	}{
		"holds":    {[]RampStep{good}, []float64{100, 125}, 0, "ended early by a signal"},
		"the knee": {[]RampStep{good, slow}, []float64{100, 125}, 0, fault},
		"late once": {[]RampStep{late, good}, []float64{100, 100, 125}, 1,
			"ended early by a signal"},
		"late, then slow": {[]RampStep{late, late, slow}, []float64{100, 100, 100}, 2, fault},
		"late at two steps": {[]RampStep{late, late, good, late, late, slow},
			[]float64{100, 100, 100, 125, 125, 125}, 4, fault},
		"late for good": {[]RampStep{late, late, late}, []float64{100, 100, 100}, 2,
			fault + "; but bench itself was late in each of 3 tries, so the sale may carry more"},
		"late and refused": {[]RampStep{refused}, []float64{100}, 0,
			strings.Replace(fault, "99 of", "90 of", 1)},
		"out of users": {[]RampStep{good, good, good, good}, []float64{100, 125, 156.25, 195.3125}, 0,
			"the next step takes 245 users who never bought and there are 222; start the server with more " +
				"-users"},
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
			if held := slices.ContainsFunc(test.tries,
				func(s RampStep) bool { return s.Goodput == good.Goodput }); held != (rep.Knee != nil) {
				t.Errorf("knee = %+v", rep.Knee)
			}
			if unique := slices.Compact(slices.Sorted(slices.Values(ids))); len(unique) != len(ids) {
				t.Errorf("%d users in %d flows", len(unique), len(ids))
			}
		})
	}
}
