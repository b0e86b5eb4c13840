package load

import (
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestTalliesMergeAsIfOne(t *testing.T) {
	one, merged := NewTally(), NewTally()
	shards := []*Tally{NewTally(), NewTally(), NewTally()}
	for i := range 3000 {
		for _, to := range []*Tally{one, shards[i%3]} {
			to.Time(StepOrder, time.Duration(i)*time.Microsecond, time.Duration(i)*time.Millisecond)
			to.Count(Refusal, Step(i%2), "CODE", time.Duration(i)*time.Millisecond)
			to.Count(Fault, StepAdd, "timeout", time.Duration(i)*time.Millisecond)
			to.Place(time.Duration(i) * time.Millisecond)
			to.Move(Traffic{Connections: 1, Reconnects: 2, BytesSent: 3, BytesReceived: 4})
		}
	}
	for _, shard := range shards {
		merged.Merge(shard)
	}
	for s := range one.latency {
		if !one.latency[s].Equals(merged.latency[s]) {
			t.Errorf("latency of %v differs", Step(s))
		}
	}
	if got := merged.latency[StepOrder].ValueAtPercentile(50); got < 1490 || got > 1510 {
		t.Errorf("median = %d us, want about 1500", got)
	}
	wantRefusals := map[event]Series{{StepLogin, "CODE"}: {500, 500, 500},
		{StepFoods, "CODE"}: {500, 500, 500}}
	wantFaults := map[event]Series{{StepAdd, "timeout"}: {1000, 1000, 1000}}
	if refusals, faults := merged.events[Refusal], merged.events[Fault]; !reflect.DeepEqual(refusals,
		wantRefusals) || !reflect.DeepEqual(faults, wantFaults) {
		t.Errorf("refusals %v, faults %v", refusals, faults)
	}
	if !reflect.DeepEqual(merged.placed, Series{1000, 1000, 1000}) {
		t.Errorf("placed = %v", merged.placed)
	}
	for second, want := range []int64{500, 1500, 2500} {
		h := merged.orders[second]
		if got := h.ValueAtPercentile(50); h.TotalCount() != 1000 || got < want*93/100 ||
			got > want*107/100 {
			t.Errorf("second %d: %d orders, median %d us, want about %d", second, h.TotalCount(), got, want)
		}
	}
	if want := (Traffic{3000, 6000, 9000, 12000}); merged.traffic != want {
		t.Errorf("traffic = %+v", merged.traffic)
	}
}

func TestTallyTakesConcurrentBuyers(t *testing.T) {
	shared := NewTally()
	var buyers sync.WaitGroup
	for range 8 {
		buyers.Go(func() {
			for range 500 {
				shared.Time(StepLogin, time.Millisecond, time.Second)
				shared.Place(time.Second)
			}
		})
	}
	buyers.Wait()
	if n := shared.latency[StepLogin].TotalCount(); n != 4000 || shared.placed[1] != 4000 {
		t.Errorf("%d latencies, %v", n, shared.placed)
	}
}

func TestTallyLimits(t *testing.T) {
	full := NewTally()
	for i := range codesMax + 10 {
		full.Count(Refusal, StepOrder, strconv.Itoa(i), 0)
	}
	full.Count(Refusal, StepOrder, "1", 0)
	if full.events[Refusal][event{StepOrder, codeOther}].total() != 10 ||
		full.events[Refusal][event{StepOrder, "1"}].total() != 2 || len(full.events[Refusal]) != codesMax+1 {
		t.Errorf("refusals = %v", full.events[Refusal])
	}
	long := NewTally()
	long.Count(Refusal, StepOrder, strings.Repeat("x", codeLengthMax+1), 0)
	if long.events[Refusal][event{StepOrder, codeOther}].total() != 1 {
		t.Errorf("refusals = %v", long.events[Refusal])
	}
	long.Time(StepFoods, 0, 0)
	long.Time(StepFoods, 100*TimeoutMax, 0)
	if h := long.latency[StepFoods]; h.TotalCount() != 2 || h.Min() != 1 || h.Max() < latencyMax {
		t.Errorf("latency from %d to %d, %d values", h.Min(), h.Max(), h.TotalCount())
	}
}
