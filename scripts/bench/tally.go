package main

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	latencyMax    = int64(2 * timeoutMax / time.Microsecond) // above it a latency is recorded as this
	latencyDigits = 3
	secondDigits  = 1  // of the latencies by second: 6% is enough for a picture, and each second costs 3.5 KB
	codesMax      = 64 // different codes counted by themselves; further ones count as codeOther
	codeLengthMax = 64 // bytes
	codeOther     = "other"
)

// event is what a request met at a step: a refusal code, a kind of transport fault, a retry.
type event struct {
	step step
	name string
}

// series counts by second since the load began.
type series []int64

func (s series) add(since time.Duration) series {
	s = s.extend(int(since/time.Second) + 1)
	s[since/time.Second]++
	return s
}

func (s series) extend(seconds int) series {
	return append(s, make(series, max(0, seconds-len(s)))...)
}

func (s series) merge(other series) series {
	s = s.extend(len(other))
	for i, n := range other {
		s[i] += n
	}
	return s
}

func (s series) total() (sum int64) {
	for _, n := range s {
		sum += n
	}
	return sum
}

// tally counts what the flows met. Buyers share a few of them, each behind its lock, which are merged at the end: one per
// buyer would need half a megabyte for each of thousands.
type tally struct {
	mu       sync.Mutex
	latency  [stepCount]*hdrhistogram.Histogram // microseconds
	flow     *hdrhistogram.Histogram            // from the intended start to the order's answer, microseconds
	late     *hdrhistogram.Histogram            // of starts for which a buyer was waiting, microseconds
	queued   int64                              // starts for which no buyer was free
	retries  map[event]series
	refusals map[event]series
	faults   map[event]series
	placed   series                    // orders answered 200
	orders   []*hdrhistogram.Histogram // latency of the orders answered in each second, microseconds
	traffic  traffic
}

func newTally() *tally {
	histogram := func() *hdrhistogram.Histogram { return hdrhistogram.New(1, latencyMax, latencyDigits) }
	t := &tally{flow: histogram(), late: histogram(),
		refusals: map[event]series{}, faults: map[event]series{}, retries: map[event]series{}}
	for s := range t.latency {
		t.latency[s] = histogram()
	}
	return t
}

// time records how long a reply took that came so long after the load began.
func (t *tally) time(s step, took, since time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	record(t.latency[s], took)
	if s == stepOrder {
		record(t.second(int(since/time.Second)), took)
	}
}

func (t *tally) second(i int) *hdrhistogram.Histogram {
	for len(t.orders) <= i {
		t.orders = append(t.orders, hdrhistogram.New(1, latencyMax, secondDigits))
	}
	return t.orders[i]
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
func (t *tally) refuse(s step, code string, since time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := event{s, code}
	if _, known := t.refusals[e]; !known && (len(t.refusals) >= codesMax || len(code) > codeLengthMax) {
		e.name = codeOther
	}
	t.refusals[e] = t.refusals[e].add(since)
}

// fail counts a request that got no usable reply.
func (t *tally) fail(s step, kind string, since time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := event{s, kind}
	t.faults[e] = t.faults[e].add(since)
}

// again counts a retry.
func (t *tally) again(s step, what string, since time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := event{s, what}
	t.retries[e] = t.retries[e].add(since)
}

// place counts an order answered 200, so long after the load began.
func (t *tally) place(since time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.placed = t.placed.add(since)
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
	mergeEvents(t.refusals, other.refusals)
	mergeEvents(t.faults, other.faults)
	mergeEvents(t.retries, other.retries)
	t.placed = t.placed.merge(other.placed)
	for i, h := range other.orders {
		t.second(i).Merge(h)
	}
	t.traffic.add(other.traffic)
}

func mergeEvents(to, from map[event]series) {
	for e, n := range from {
		to[e] = to[e].merge(n)
	}
}
