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

// kind is a kind of event.
type kind int

const (
	refusal kind = iota // a reply other than the step's success; the name is its code
	fault               // no usable reply; the name is the fault in transport
	retry               // the name is the kind of retry
	kindCount
)

// event is a refusal, a fault or a retry at a step.
type event struct {
	step Step
	name string
}

// tally counts the events and latencies of a load. All buyers share it: the lock is held for a tenth of a
// microsecond by request, and a tally for each buyer would take half a megabyte.
type tally struct {
	mu      sync.Mutex
	latency [StepCount]*hdrhistogram.Histogram // microseconds
	// from the intended start to the order's answer, microseconds
	flow    *hdrhistogram.Histogram
	late    *hdrhistogram.Histogram // of starts for which a buyer was waiting, microseconds
	queued  int64                   // starts for which no buyer was free
	events  [kindCount]map[event]int64
	placed  []int64                   // orders answered 200, by second since the load began
	orders  []*hdrhistogram.Histogram // latency of the orders answered in each second, microseconds
	traffic Traffic
}

func newTally() *tally {
	histogram := func() *hdrhistogram.Histogram { return hdrhistogram.New(1, latencyMax, latencyDigits) }
	t := &tally{flow: histogram(), late: histogram()}
	for k := range t.events {
		t.events[k] = map[event]int64{}
	}
	for s := range t.latency {
		t.latency[s] = histogram()
	}
	return t
}

// extend makes the figures by second at least that many seconds long.
func (t *tally) extend(seconds int) {
	for len(t.placed) < seconds {
		t.placed = append(t.placed, 0)
		t.orders = append(t.orders, hdrhistogram.New(1, latencyMax, secondDigits))
	}
}

// time records how long a reply took, and when it came after the load began.
func (t *tally) time(s Step, took, since time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	record(t.latency[s], took)
	if s == StepOrder {
		second := int(since / time.Second)
		t.extend(second + 1)
		record(t.orders[second], took)
	}
}

// finish records how long a flow took up to the answer to its order.
func (t *tally) finish(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	record(t.flow, took)
}

// start records the delay of a flow's start.
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

// count counts an event.
func (t *tally) count(k kind, s Step, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, counts := event{s, name}, t.events[k]
	if _, known := counts[e]; !known && (len(counts) >= codesMax || len(name) > codeLengthMax) {
		e.name = codeOther
	}
	counts[e]++
}

// place counts an order answered 200, by the time since the load began.
func (t *tally) place(since time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	second := int(since / time.Second)
	t.extend(second + 1)
	t.placed[second]++
}

// move counts a buyer's traffic.
func (t *tally) move(traffic Traffic) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.traffic.Connections += traffic.Connections
	t.traffic.Reconnects += traffic.Reconnects
	t.traffic.BytesSent += traffic.BytesSent
	t.traffic.BytesReceived += traffic.BytesReceived
}
