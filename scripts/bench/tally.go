package main

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	latencyMax    = int64(2 * timeoutMax / time.Microsecond) // above it a latency is recorded as this
	latencyDigits = 3
	codesMax      = 64 // different codes counted by themselves; further ones count as codeOther
	codeLengthMax = 64 // bytes
	codeOther     = "other"
)

// event is what a request met at a step: a refusal code, a kind of transport fault, a retry.
type event struct {
	step step
	name string
}

// tally counts what the flows met. Buyers share a few of them, each behind its lock, which are merged at the end: one per
// buyer would need half a megabyte for each of thousands.
type tally struct {
	mu       sync.Mutex
	latency  [stepCount]*hdrhistogram.Histogram // microseconds
	flow     *hdrhistogram.Histogram            // from the intended start to the order's answer, microseconds
	late     *hdrhistogram.Histogram            // of starts for which a buyer was waiting, microseconds
	queued   int64                              // starts for which no buyer was free
	retries  map[event]int64
	refusals map[event]int64
	faults   map[event]int64
	seconds  []int64 // orders placed in each second since the load began
	traffic  traffic
}

func newTally() *tally {
	histogram := func() *hdrhistogram.Histogram { return hdrhistogram.New(1, latencyMax, latencyDigits) }
	t := &tally{flow: histogram(), late: histogram(), refusals: map[event]int64{}, faults: map[event]int64{}, retries: map[event]int64{}}
	for s := range t.latency {
		t.latency[s] = histogram()
	}
	return t
}

// time records how long a reply took.
func (t *tally) time(s step, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	record(t.latency[s], took)
}

// finish records how long a flow took up to the answer to its order.
func (t *tally) finish(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	record(t.flow, took)
}

// start records how a flow's start missed the intended one.
func (t *tally) start(late lateness) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if late.free {
		record(t.late, late.by)
	} else {
		t.queued++
	}
}

func record(h *hdrhistogram.Histogram, took time.Duration) {
	// A value within the histogram's range is always accepted.
	_ = h.RecordValue(min(max(took.Microseconds(), 1), latencyMax))
}

// refuse counts a reply that was not the step's success.
func (t *tally) refuse(s step, code string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := event{s, code}
	if _, known := t.refusals[e]; !known && (len(t.refusals) >= codesMax || len(code) > codeLengthMax) {
		e.name = codeOther
	}
	t.refusals[e]++
}

// fail counts a request that got no usable reply.
func (t *tally) fail(s step, kind string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults[event{s, kind}]++
}

// again counts a retry.
func (t *tally) again(s step, what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.retries[event{s, what}]++
}

// place counts an order answered 200, so long after the load began.
func (t *tally) place(since time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.extend(int(since/time.Second) + 1)
	t.seconds[since/time.Second]++
}

func (t *tally) extend(seconds int) {
	for len(t.seconds) < seconds {
		t.seconds = append(t.seconds, 0)
	}
}

// move counts a buyer's traffic.
func (t *tally) move(traffic traffic) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.traffic.add(traffic)
}

// merge adds another tally, which nobody writes any more.
func (t *tally) merge(other *tally) {
	for s := range t.latency {
		t.latency[s].Merge(other.latency[s])
	}
	t.flow.Merge(other.flow)
	t.late.Merge(other.late)
	t.queued += other.queued
	for e, n := range other.refusals {
		t.refusals[e] += n
	}
	for e, n := range other.faults {
		t.faults[e] += n
	}
	for e, n := range other.retries {
		t.retries[e] += n
	}
	t.extend(len(other.seconds))
	for i, n := range other.seconds {
		t.seconds[i] += n
	}
	t.traffic.add(other.traffic)
}
