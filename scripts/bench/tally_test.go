package main

import (
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestTalliesMergeAsIfOne(t *testing.T) {
	one, merged := newTally(), newTally()
	shards := []*tally{newTally(), newTally(), newTally()}
	for i := range 3000 {
		for _, to := range []*tally{one, shards[i%3]} {
			to.time(stepOrder, time.Duration(i)*time.Microsecond, time.Duration(i)*time.Millisecond)
			to.refuse(step(i%2), "CODE", time.Duration(i)*time.Millisecond)
			to.fail(stepAdd, "timeout", time.Duration(i)*time.Millisecond)
			to.place(time.Duration(i) * time.Millisecond)
			to.move(traffic{Connections: 1, Reconnects: 2, BytesSent: 3, BytesReceived: 4})
		}
	}
	for _, shard := range shards {
		merged.merge(shard)
	}
	for s := range one.latency {
		if !one.latency[s].Equals(merged.latency[s]) {
			t.Errorf("latency of %v differs", step(s))
		}
	}
	if got := merged.latency[stepOrder].ValueAtPercentile(50); got < 1490 || got > 1510 {
		t.Errorf("median = %d us, want about 1500", got)
	}
	wantRefusals := map[event]series{{stepLogin, "CODE"}: {500, 500, 500}, {stepFoods, "CODE"}: {500, 500, 500}}
	wantFaults := map[event]series{{stepAdd, "timeout"}: {1000, 1000, 1000}}
	if !reflect.DeepEqual(merged.refusals, wantRefusals) || !reflect.DeepEqual(merged.faults, wantFaults) {
		t.Errorf("refusals %v, faults %v", merged.refusals, merged.faults)
	}
	if !reflect.DeepEqual(merged.placed, series{1000, 1000, 1000}) {
		t.Errorf("placed = %v", merged.placed)
	}
	for second, want := range []int64{500, 1500, 2500} {
		h := merged.orders[second]
		if got := h.ValueAtPercentile(50); h.TotalCount() != 1000 || got < want*93/100 || got > want*107/100 {
			t.Errorf("second %d: %d orders, median %d us, want about %d", second, h.TotalCount(), got, want)
		}
	}
	if want := (traffic{3000, 6000, 9000, 12000}); merged.traffic != want {
		t.Errorf("traffic = %+v", merged.traffic)
	}
}

func TestTallyTakesConcurrentBuyers(t *testing.T) {
	shared := newTally()
	var buyers sync.WaitGroup
	for range 8 {
		buyers.Go(func() {
			for range 500 {
				shared.time(stepLogin, time.Millisecond, time.Second)
				shared.place(time.Second)
			}
		})
	}
	buyers.Wait()
	if n := shared.latency[stepLogin].TotalCount(); n != 4000 || shared.placed[1] != 4000 {
		t.Errorf("%d latencies, %v", n, shared.placed)
	}
}

func TestTallyLimits(t *testing.T) {
	full := newTally()
	for i := range codesMax + 10 {
		full.refuse(stepOrder, strconv.Itoa(i), 0)
	}
	full.refuse(stepOrder, "1", 0)
	if full.refusals[event{stepOrder, codeOther}].total() != 10 || full.refusals[event{stepOrder, "1"}].total() != 2 || len(full.refusals) != codesMax+1 {
		t.Errorf("refusals = %v", full.refusals)
	}
	long := newTally()
	long.refuse(stepOrder, strings.Repeat("x", codeLengthMax+1), 0)
	if long.refusals[event{stepOrder, codeOther}].total() != 1 {
		t.Errorf("refusals = %v", long.refusals)
	}
	long.time(stepFoods, 0, 0)
	long.time(stepFoods, 100*timeoutMax, 0)
	if h := long.latency[stepFoods]; h.TotalCount() != 2 || h.Min() != 1 || h.Max() < latencyMax {
		t.Errorf("latency from %d to %d, %d values", h.Min(), h.Max(), h.TotalCount())
	}
}
