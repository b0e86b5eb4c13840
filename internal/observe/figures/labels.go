package figures

import (
	"iter"
	"sync/atomic"
	"time"
)

const (
	// Other is the index of what has no label of its own.
	Other = 0

	otherLabel = "other"
	labelsMax  = 128
	labelBytes = 60 // what is longer is cut
)

// labels are texts in shared memory, each with an index. They are only added to, so an index stays the same
// for all workers of a slot. Two goroutines that add a text at the same moment may add it twice: a reader
// takes the sum.
type labels [labelsMax]label

type label struct {
	state atomic.Uint32 // free, or being written, or size+labelReady
	text  [labelBytes]byte
}

// The states of a label. A worker that is killed while it writes leaves one that is never used.
const (
	labelFree = iota
	labelWritten
	labelReady
)

// index returns the index of a text, which it adds if need be; Other where there is no room.
func (l *labels) index(text []byte) int {
	text = text[:min(len(text), labelBytes)]
	for i := Other + 1; i < labelsMax; i++ {
		entry := &l[i]
		if known, ok := entry.read(); ok && string(known) == string(text) {
			return i
		}
		// The look first: it costs less than the attempt to take an entry.
		if entry.state.Load() == labelFree && entry.state.CompareAndSwap(labelFree, labelWritten) {
			copy(entry.text[:], text)
			entry.state.Store(labelReady + uint32(len(text)))
			return i
		}
	}
	return Other
}

// find returns the index of a text that is there already.
func (l *labels) find(text string) (index int, ok bool) {
	for i := Other + 1; i < labelsMax && l[i].state.Load() != labelFree; i++ {
		if known, ready := l[i].read(); ready && string(known) == text {
			return i, true
		}
	}
	return Other, false
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

// Index returns the index of a label. It does not allocate, and looks through all labels that there are.
func (l *Labelled) Index(label []byte) int { return l.labels.index(label) }

// Inc adds one to the counter with an index.
func (l *Labelled) Inc(index int) { l.counts[index].Inc() }

// All are the counters by label. A label may come twice.
func (l *Labelled) All() iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		for i, text := range l.labels.all() {
			if !yield(text, l.counts[i].Value()) {
				return
			}
		}
	}
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

// Count counts a request that was answered. A status that is none counts as 500.
func (c *Calls) Count(index, status int, took time.Duration) {
	if status < statusMin || status > statusMax {
		status = 500
	}
	c.requests[index][status-statusMin].Inc()
	c.durations[index][status/100-1].Observe(took)
}

// Times are the times that the requests of a call took, whatever their status, in nanoseconds.
func (c *Calls) Times(call string) Histogram {
	sum := Histogram{Bounds: DurationBounds[:]}
	if index, ok := c.labels.find(call); ok {
		for class := range c.durations[index] {
			sum.Add(c.durations[index][class].Read())
		}
	}
	return sum
}

// Call is the figures of one call.
type Call struct {
	Name     string
	Requests map[int]uint64    // by status, those that came
	Times    map[int]Histogram // by the first digit of the status, those that came; nanoseconds
}

// All are the figures of each call. A name may come twice.
func (c *Calls) All() iter.Seq[Call] {
	return func(yield func(Call) bool) {
		for i, name := range c.labels.all() {
			if !yield(c.read(i, name)) {
				return
			}
		}
	}
}

func (c *Calls) read(index int, name string) Call {
	call := Call{Name: name, Requests: map[int]uint64{}, Times: map[int]Histogram{}}
	for i := range c.durations[index] {
		if times := c.durations[index][i].Read(); times.Count > 0 {
			call.Times[i+1] = times
		}
	}
	for i := range c.requests[index] {
		if n := c.requests[index][i].Value(); n > 0 {
			call.Requests[statusMin+i] = n
		}
	}
	return call
}
