package load

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Buyers share a tally; it sorts what they tell it by step and by second.
func TestTallyTakesConcurrentBuyers(t *testing.T) {
	shared := newTally()
	var buyers sync.WaitGroup
	for range 8 {
		buyers.Go(func() {
			for i := range 500 {
				since := time.Duration(i) * 5 * time.Millisecond
				shared.time(StepOrder, time.Millisecond, since)
				shared.place(since)
				shared.count(refusal, StepAdd, "CODE")
			}
		})
	}
	buyers.Wait()
	if n := shared.latency[StepOrder].TotalCount(); n != 4000 || len(shared.placed) != 3 ||
		shared.placed[1] != 1600 || shared.orders[1].TotalCount() != 1600 ||
		shared.events[refusal][event{StepAdd, "CODE"}] != 4000 {
		t.Errorf("%d latencies, %v, %v", n, shared.placed, shared.events)
	}
}

func TestTallyLimits(t *testing.T) {
	full := newTally()
	for i := range codesMax + 10 {
		full.count(refusal, StepOrder, strconv.Itoa(i))
	}
	full.count(refusal, StepOrder, "1")
	full.count(fault, StepOrder, strings.Repeat("x", codeLengthMax+1))
	refusals := full.events[refusal]
	if refusals[event{StepOrder, codeOther}] != 10 || refusals[event{StepOrder, "1"}] != 2 ||
		len(refusals) != codesMax+1 || full.events[fault][event{StepOrder, codeOther}] != 1 {
		t.Errorf("events = %v", full.events)
	}
	full.time(StepFoods, 0, 0)
	full.time(StepFoods, 100*TimeoutMax, 0)
	if h := full.latency[StepFoods]; h.TotalCount() != 2 || h.Min() != 1 || h.Max() < latencyMax {
		t.Errorf("latency from %d to %d, %d values", h.Min(), h.Max(), h.TotalCount())
	}
}

func TestContestScore(t *testing.T) {
	tests := []struct {
		seconds []int64
		want    float64
		ok      bool
	}{
		{nil, 0, false},
		{[]int64{900, 10}, 0, false},
		{[]int64{900, 10, 700}, 700, true},
		{[]int64{5, 5, 5, 5}, 5, true},
		{[]int64{100, 200, 300, 400, 500, 600}, 350, true},
		{[]int64{100, 900, 200, 800, 300, 700, 400, 600, 500}, 600, true}, // top five of 200..800
	}
	for _, test := range tests {
		got, ok := contestScore(test.seconds)
		if got != test.want || ok != test.ok {
			t.Errorf("contestScore(%v) = %v, %v, want %v, %v", test.seconds, got, ok, test.want, test.ok)
		}
	}
}
