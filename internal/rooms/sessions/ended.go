package sessions

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

const shardCount = 256

// ended is what a process knows of ends. Holders are spread over many small maps, which are replaced, not
// changed: a reader needs one load and one lookup.
type ended struct {
	shards [shardCount]atomic.Pointer[map[Holder]ends]
	mu     sync.Mutex // of writers
}

// ends are what one holder has ended. The slice does not change.
type ends struct {
	all    int64 // tokens that expire by then have ended, Unix seconds
	single []single
}

// single is one session, with the Unix second in which its token expires.
type single struct {
	session uint32
	expires int64
}

func (e *ended) has(h Holder, session uint32, expires int64) bool {
	shard := e.shards[h%shardCount].Load()
	if shard == nil {
		return false
	}
	own := (*shard)[h]
	if expires <= own.all {
		return true
	}
	for i := range own.single {
		if own.single[i].session == session {
			return true
		}
	}
	return false
}

// with adds what another server may have told, and leaves out what needs no note any more. It reports
// whether that is more than before.
func (old ends) with(told ends, now int64) (merged ends, more bool) {
	merged = ends{max(old.all, told.all), slices.Clone(old.single)}
	for _, one := range told.single {
		if !slices.Contains(merged.single, one) {
			merged.single, more = append(merged.single, one), more || one.expires > max(merged.all, now)
		}
	}
	merged.single = slices.DeleteFunc(merged.single, func(one single) bool {
		return one.expires <= max(merged.all, now)
	})
	return merged, more || merged.all > old.all
}

// add notes the ends of some holders.
func (e *ended) add(told map[Holder]ends, now int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	fresh := map[Holder]map[Holder]ends{} // by shard
	for h, told := range told {
		i := h % shardCount
		shard, begun := fresh[i]
		if old := e.shards[i].Load(); !begun && old != nil {
			shard = *old
		}
		merged, more := shard[h].with(told, now)
		if !more {
			continue
		}
		if !begun {
			shard = maps.Clone(shard)
		}
		if shard == nil {
			shard = map[Holder]ends{}
		}
		shard[h], fresh[i] = merged, shard
	}
	for i, shard := range fresh {
		e.shards[i].Store(&shard)
	}
}

// sweep forgets sessions whose tokens have expired.
func (e *ended) sweep(now int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.shards {
		old := e.shards[i].Load()
		if old == nil {
			continue
		}
		shard := make(map[Holder]ends, len(*old))
		for h, own := range *old {
			if own, _ = own.with(ends{}, now); own.all > now || len(own.single) > 0 {
				shard[h] = own
			}
		}
		if len(shard) == 0 {
			e.shards[i].Store(nil)
		} else {
			e.shards[i].Store(&shard)
		}
	}
}
