package main

import (
	"testing"

	"flashsale/scripts/bench/load"
)

// All flows are meant to start at once and one buyer goes through them: the last one took the whole load,
// although none of its requests took long. In a closed loop it would look as fast as the first.
func TestOpenLoopCountsFromIntendedStart(t *testing.T) {
	s := newShop(builtIn(t, 10, 1000), honest)
	rep, stderr, code := bench(t, []string{s.open(t)}, 10, 1000, "-rate", "1000000", "-concurrency", "1")
	if code != 0 {
		t.Fatal(stderr)
	}
	l := rep.Load
	flow, elapsed := l.Latency[load.StepCount], int64(l.ElapsedSeconds*1e6)
	if flow.Step != "flow" || flow.Count != 100 || flow.Max < elapsed/2 {
		t.Errorf("flow = %+v, the load took %d us", flow, elapsed)
	}
	if l.Rate != 1e6 || l.Placed != 100 || l.LateStarts+l.OwnLateness.Count != 100 || l.LateStarts == 0 {
		t.Errorf("load = %+v", l)
	}
}

func TestOpenLoopKeepsRate(t *testing.T) {
	s := newShop(builtIn(t, 10, 1000), honest)
	rep, stderr, code := bench(t, []string{s.open(t)}, 10, 1000, "-rate", "400", "-concurrency", "100")
	if code != 0 {
		t.Fatal(stderr)
	}
	l := rep.Load
	last := load.PoissonArrivals(100, 400, 7, 0)[99].Seconds()
	if l.ElapsedSeconds < last || l.Placed != 100 || l.LateStarts+l.OwnLateness.Count != 100 {
		t.Errorf("the last start was meant at %v s; load = %+v", last, l)
	}
}
