package figures

import (
	"iter"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	// Other is the index of all texts without a label of their own.
	Other = 0

	otherLabel = "other"
	labelsMax  = 128
	labelBytes = 60 // longer labels are cut
)

// labels are texts in shared memory, each with an index. They are only added to, so an index stays the same
// for all workers of a slot. Two goroutines that add a text at the same moment may add it twice: a reader
// takes the sum.
type labels [labelsMax]label

type label struct {
	state atomic.Uint32 // free, or being written, or size+labelReady
	text  [labelBytes]byte
}

// The states of a label. A worker that is killed while it writes leaves a label that is never used.
const (
	labelFree = iota
	labelWritten
	labelReady
)

// index returns the index of a text. It adds a new text, and returns Other if all labels are taken.
func (l *labels) index(text []byte) int {
	text = text[:min(len(text), labelBytes)]
	for i := Other + 1; i < labelsMax; i++ {
		entry := &l[i]
		if known, ok := entry.read(); ok && string(known) == string(text) {
			return i
		}
		// First a load: it costs less than a compare-and-swap.
		if entry.state.Load() == labelFree && entry.state.CompareAndSwap(labelFree, labelWritten) {
			copy(entry.text[:], text)
			entry.state.Store(labelReady + uint32(len(text)))
			return i
		}
	}
	return Other
}

// read returns the text of a label that is ready.
func (l *label) read() (text []byte, ok bool) {
	state := l.state.Load()
	if state < labelReady {
		return nil, false
	}
	return l.text[:state-labelReady], true
}

// all are the labels with their indexes, Other included.
func (l *labels) all() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		if !yield(Other, otherLabel) {
			return
		}
		for i := Other + 1; i < labelsMax && l[i].state.Load() != labelFree; i++ {
			if text, ok := l[i].read(); ok && !yield(i, string(text)) {
				return
			}
		}
	}
}

// Labelled are counters by label.
type Labelled struct {
	labels labels
	counts [labelsMax]Counter
}

// Index returns the index of a label. It does not allocate, and compares all labels so far.
func (l *Labelled) Index(label []byte) int { return l.labels.index(label) }

// Inc adds one to the counter with an index.
func (l *Labelled) Inc(index int) { l.counts[index].Inc() }

// Values are the counters by label. A label may come twice.
func (l *Labelled) Values() (values []Value) {
	for i, text := range l.labels.all() {
		values = append(values, Value{Labels: []string{text}, Number: float64(l.counts[i].Value())})
	}
	return values
}

const (
	statusMin, statusMax = 100, 599
	classes              = 5 // 1xx to 5xx
)

// Calls are the figures of requests by call, such as "POST /login", and status.
type Calls struct {
	labels    labels
	requests  [labelsMax][statusMax - statusMin + 1]Counter
	durations [labelsMax][classes]Durations
}

// Index returns the index of a call.
func (c *Calls) Index(call string) int { return c.labels.index([]byte(call)) }

// Count counts a request that was answered. A number that is no status counts as 500.
func (c *Calls) Count(index, status int, took time.Duration) {
	if status < statusMin || status > statusMax {
		status = 500
	}
	c.requests[index][status-statusMin].Inc()
	c.durations[index][status/100-1].Observe(took)
}

// Requests are the requests that came, by call and status. A call may come twice.
func (c *Calls) Requests() (values []Value) {
	for i, call := range c.labels.all() {
		for status := range c.requests[i] {
			if n := c.requests[i][status].Value(); n > 0 {
				values = append(values, Value{Labels: []string{call, strconv.Itoa(statusMin + status)},
					Number: float64(n)})
			}
		}
	}
	return values
}

// Times are the times that requests took, by call and class of status, such as 2xx. A call may come twice.
func (c *Calls) Times() (values []Value) {
	for i, call := range c.labels.all() {
		for class := range c.durations[i] {
			if times := c.durations[i][class].Read(); times.Count > 0 {
				values = append(values, Value{Labels: []string{call, strconv.Itoa(class+1) + "xx"}, Histogram: &times})
			}
		}
	}
	return values
}

// TimesOf are the times that the requests of one call took, whatever their status.
func (m *Memory) TimesOf(call string) (sum Histogram) {
	for slot := range m.slots {
		c := &m.Counters(slot).Calls
		for i, name := range c.labels.all() {
			if name != call {
				continue
			}
			for class := range c.durations[i] {
				sum.Add(c.durations[i][class].Read())
			}
		}
	}
	return sum
}
