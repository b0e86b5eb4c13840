package limits

import (
	"hash/maphash"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// rememberedMax is the number of values that a memory holds; a further value takes the place of another.
	// Redis is asked again about a value that is forgotten.
	rememberedMax = 1 << 16
	// shards is the number of parts of a memory. Each has a lock of its own: the order path asks the memory,
	// and never waits for more than a sweep of one part.
	shards   = 64
	shardMax = rememberedMax / shards
)

// memory holds for the values of a limit whether they are refused, and how many of their calls are on their
// way to Redis. recall does not allocate. The zero value is ready; it is safe for concurrent use.
type memory struct {
	size   atomic.Int64  // values in all shards; while it is 0 recall is one load
	named  bool          // values are guesses: names, each with a network behind it
	lifts  atomic.Uint64 // how often something was forgotten because it was lifted
	shards [shards]shard
}

type shard struct {
	mu     sync.RWMutex
	values map[uint64]remembered
}

// remembered belongs to a value. Times are Unix nanoseconds.
type remembered struct {
	until   int64  // it is refused until then
	reset   int64  // until then its rate has not all its room again
	rate    int    // that rate's place in the rules
	room    int32  // one more than the calls that Redis had room for at last, 0 for unknown
	pending int32  // calls that are on their way to Redis
	name    uint64 // of a guess: its name
}

var memorySeed = maphash.MakeSeed()

// of returns the place of a value.
func (m *memory) of(value []byte) (s *shard, key uint64) {
	key = maphash.Bytes(memorySeed, value)
	return &m.shards[key%shards], key
}

// used reports whether something is remembered.
func (m *memory) used() bool { return m.size.Load() > 0 }

// recall returns what is remembered of a value, and whether the value is refused.
func (m *memory) recall(value []byte, now time.Time) (r remembered, refused bool) {
	if !m.used() {
		return r, false
	}
	s, key := m.of(value)
	s.mu.RLock()
	r = s.values[key]
	s.mu.RUnlock()
	return r, r.until > now.UnixNano()
}

// send notes that calls are on their way to Redis; arrive must follow.
func (m *memory) send(value []byte, calls int32) {
	m.change(value, func(r *remembered) { r.pending += calls })
}

// arrive notes that they are counted, or lost.
func (m *memory) arrive(value []byte, calls int32) {
	m.change(value, func(r *remembered) { r.pending = max(r.pending-calls, 0) })
}

// leave notes how many more calls Redis has room for. It is remembered until the next sweep, or as long as
// calls are on their way.
func (m *memory) leave(value []byte, calls int64) {
	room := int32(min(calls, math.MaxInt32-1)) + 1
	m.change(value, func(r *remembered) {
		if r.room == 0 || room < r.room {
			r.room = room
		}
	})
}

// refuse remembers that Redis refuses the value; the longest refusal stays. lifts is the count of m.lifts
// before Redis was asked: a reply from before a lift is out of date.
func (m *memory) refuse(value []byte, now time.Time, lifts uint64, refusal remembered) {
	m.change(value, func(r *remembered) {
		if lifts == m.lifts.Load() && refusal.until > max(r.until, now.UnixNano()) {
			refusal.pending = r.pending
			*r = refusal
		}
	})
}

func (m *memory) change(value []byte, change func(*remembered)) {
	s, key := m.of(value)
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.values)
	defer func() { m.size.Add(int64(len(s.values) - before)) }()
	r, known := s.values[key]
	change(&r)
	if m.named {
		r.name = maphash.Bytes(memorySeed, value[:len(value)-addressBytes])
	}
	switch {
	case r.pending == 0 && r.until == 0 && r.room == 0:
		delete(s.values, key)
		return
	case s.values == nil:
		s.values = map[uint64]remembered{}
	case !known && len(s.values) >= shardMax:
		s.forgetOne()
	}
	s.values[key] = r
}

// forgetOne makes room: of some values, which the map chooses, it forgets the one that is refused for the
// shortest time.
func (s *shard) forgetOne() {
	const some = 8
	var soonest uint64
	until, seen := int64(math.MaxInt64), 0
	for key, r := range s.values {
		if r.until < until {
			soonest, until = key, r.until
		}
		if seen++; seen == some {
			break
		}
	}
	delete(s.values, soonest)
}

// forget forgets the refusal of a value that was lifted, and its refusals on their way from Redis.
func (m *memory) forget(value []byte) {
	m.lifts.Add(1) // first: a refusal is remembered before it, and forgotten here, or not at all
	m.change(value, func(r *remembered) { r.until, r.room = 0, 0 })
}

// forgetName forgets the refusals of a name at all networks.
func (m *memory) forgetName(name []byte) {
	m.lifts.Add(1)
	hash := maphash.Bytes(memorySeed, name)
	m.drop(func(r remembered) bool { return r.name == hash })
}

// forgetAll forgets all refusals.
func (m *memory) forgetAll() {
	m.lifts.Add(1)
	m.drop(func(remembered) bool { return true })
}

// sweep forgets the refusals that have ended.
func (m *memory) sweep(now time.Time) {
	end := now.UnixNano()
	m.drop(func(r remembered) bool { return r.until <= end })
}

// drop forgets some refusals, one shard at a time.
func (m *memory) drop(which func(remembered) bool) {
	if !m.used() {
		return
	}
	for i := range m.shards {
		m.shards[i].drop(m, which)
	}
}

func (s *shard) drop(m *memory, which func(remembered) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.values)
	for key, r := range s.values {
		if !which(r) {
			continue
		}
		if r.until = 0; r.pending == 0 {
			delete(s.values, key)
		} else {
			s.values[key] = r
		}
	}
	m.size.Add(int64(len(s.values) - before))
}
