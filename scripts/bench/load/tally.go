package load

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	latencyMax    = int64(2 * TimeoutMax / time.Microsecond) // greater latencies count as this
	latencyDigits = 3
	// of the latencies by second: coarse, because each second takes memory
	secondDigits  = 1
	codesMax      = 64 // different codes; further codes count as codeOther
	codeLengthMax = 64 // bytes
	codeOther     = "other"
)

// Kind is a kind of event.
type Kind int

const (
	Refusal Kind = iota // a reply other than the step's success; the name is its code
	Fault               // no usable reply; the name is the fault in transport
	Retry               // the name is the kind of retry
	kindCount
)

// event is a refusal, a fault or a retry at a step.
type event struct {
	step Step
	name string
}

// Series counts by second since the load began.
type Series []int64

func (s Series) add(since time.Duration) Series {
	s = s.Extend(int(since/time.Second) + 1)
	s[since/time.Second]++
	return s
}

// Extend makes the series at least that many seconds long.
func (s Series) Extend(seconds int) Series {
	return append(s, make(Series, max(0, seconds-len(s)))...)
}

// Merge adds another series, second by second.
func (s Series) Merge(other Series) Series {
	s = s.Extend(len(other))
	for i, n := range other {
		s[i] += n
	}
	return s
}

func (s Series) total() (sum int64) {
	for _, n := range s {
		sum += n
	}
	return sum
}

// Tally counts the events and latencies of flows. Buyers share a few tallies, each with a lock, which are
// merged at the end: a tally takes half a megabyte, too much for each of thousands of buyers.
type Tally struct {
	mu      sync.Mutex
	latency [StepCount]*hdrhistogram.Histogram // microseconds
	// from the intended start to the order's answer, microseconds
	flow    *hdrhistogram.Histogram
	late    *hdrhistogram.Histogram // of starts for which a buyer was waiting, microseconds
	queued  int64                   // starts for which no buyer was free
	events  [kindCount]map[event]Series
	placed  Series                    // orders answered 200
	orders  []*hdrhistogram.Histogram // latency of the orders answered in each second, microseconds
	traffic Traffic
}

// NewTally makes an empty tally.
func NewTally() *Tally {
	histogram := func() *hdrhistogram.Histogram { return hdrhistogram.New(1, latencyMax, latencyDigits) }
	t := &Tally{flow: histogram(), late: histogram()}
	for k := range t.events {
		t.events[k] = map[event]Series{}
	}
	for s := range t.latency {
		t.latency[s] = histogram()
	}
	return t
}

// Time records how long a reply took, and when it came after the load began.
func (t *Tally) Time(s Step, took, since time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	record(t.latency[s], took)
	if s == StepOrder {
		record(t.second(int(since/time.Second)), took)
	}
}

func (t *Tally) second(i int) *hdrhistogram.Histogram {
	for len(t.orders) <= i {
		t.orders = append(t.orders, hdrhistogram.New(1, latencyMax, secondDigits))
	}
	return t.orders[i]
}

// Finish records how long a flow took up to the answer to its order.
func (t *Tally) Finish(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	record(t.flow, took)
}

// Start records the delay of a flow's start.
func (t *Tally) Start(late lateness) {
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

// Count counts an event, by the time since the load began.
func (t *Tally) Count(k Kind, s Step, name string, since time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, counts := event{s, name}, t.events[k]
	if _, known := counts[e]; !known && (len(counts) >= codesMax || len(name) > codeLengthMax) {
		e.name = codeOther
	}
	counts[e] = counts[e].add(since)
}

// Place counts an order answered 200, by the time since the load began.
func (t *Tally) Place(since time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.placed = t.placed.add(since)
}

// Move counts a buyer's traffic.
func (t *Tally) Move(traffic Traffic) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.traffic.add(traffic)
}

// Merge adds another tally, which must no longer change.
func (t *Tally) Merge(other *Tally) {
	for s := range t.latency {
		t.latency[s].Merge(other.latency[s])
	}
	t.flow.Merge(other.flow)
	t.late.Merge(other.late)
	t.queued += other.queued
	for k, counts := range other.events {
		for e, n := range counts {
			t.events[k][e] = t.events[k][e].Merge(n)
		}
	}
	t.placed = t.placed.Merge(other.placed)
	for i, h := range other.orders {
		t.second(i).Merge(h)
	}
	t.traffic.add(other.traffic)
}
