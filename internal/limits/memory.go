package limits

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

// rememberedMax is the number of values that a memory holds; another one is forgotten for the next. A value
// that is forgotten is asked about again.
const rememberedMax = 1 << 16

// memory is what this process knows of the values of a limit: which ones are refused, and the calls on
// their way to be counted. Looks do not allocate. The zero value is ready; it is safe for concurrent use.
type memory struct {
	used   atomic.Bool // something is remembered; without that a look is one load
	mu     sync.RWMutex
	values map[uint64]remembered
}

// remembered is what is known of a value. Times are Unix nanoseconds.
type remembered struct {
	until   int64 // it is refused until then
	reset   int64 // until then its rate has not all its room again
	rate    int   // that rate's place in the rules
	pending int32 // calls that are on their way to Redis
}

var memorySeed = maphash.MakeSeed()

func hash(value []byte) uint64 { return maphash.Bytes(memorySeed, value) }

// look returns what is known of a value, and whether it is refused.
func (m *memory) look(value []byte, now time.Time) (r remembered, refused bool) {
	if !m.used.Load() {
		return r, false
	}
	m.mu.RLock()
	r = m.values[hash(value)]
	m.mu.RUnlock()
	return r, r.until > now.UnixNano()
}

// send notes that a call is on its way to Redis; arrive must follow.
func (m *memory) send(value []byte) { m.change(value, func(r *remembered) { r.pending++ }) }

// arrive notes that it is counted, or lost.
func (m *memory) arrive(value []byte) {
	m.change(value, func(r *remembered) { r.pending = max(r.pending-1, 0) })
}

// refuse remembers that Redis refuses the value; the longest refusal stands.
func (m *memory) refuse(value []byte, now time.Time, refusal remembered) {
	m.change(value, func(r *remembered) {
		if refusal.until > max(r.until, now.UnixNano()) {
			refusal.pending = r.pending
			*r = refusal
		}
	})
}

func (m *memory) change(value []byte, change func(*remembered)) {
	key := hash(value)
	m.mu.Lock()
	defer m.mu.Unlock()
	defer func() { m.used.Store(len(m.values) > 0) }()
	r, known := m.values[key]
	change(&r)
	switch {
	case r.pending == 0 && r.until == 0:
		delete(m.values, key)
		return
	case m.values == nil:
		m.values = map[uint64]remembered{}
	case !known && len(m.values) >= rememberedMax:
		for other := range m.values { // any one
			delete(m.values, other)
			break
		}
	}
	m.values[key] = r
}

// forget forgets a value that was lifted.
func (m *memory) forget(value []byte) { m.change(value, func(r *remembered) { r.until = 0 }) }

// sweep forgets the values that are not refused any more; with all of them also those that are.
func (m *memory) sweep(now time.Time, all bool) {
	if !m.used.Load() {
		return
	}
	for _, key := range m.keys() { // in small steps: the order path looks here
		m.mu.Lock()
		if r := m.values[key]; all || r.until <= now.UnixNano() {
			if r.until = 0; r.pending == 0 {
				delete(m.values, key)
			} else {
				m.values[key] = r
			}
		}
		m.used.Store(len(m.values) > 0)
		m.mu.Unlock()
	}
}

func (m *memory) keys() (keys []uint64) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for key := range m.values {
		keys = append(keys, key)
	}
	return keys
}
