package limits

import (
	"strconv"
	"testing"
	"time"
)

// A sweep locks a small part of the memory at a time, however full it is, and leaves what is on its way.
func TestMemoryIsInSmallParts(t *testing.T) {
	var m memory
	now := time.Now()
	for i := range 2 * rememberedMax {
		m.refuse([]byte(strconv.Itoa(i)), now, 0, remembered{until: now.Add(time.Hour).UnixNano()})
	}
	if n := m.size.Load(); n > rememberedMax || n < rememberedMax*9/10 {
		t.Errorf("%d values are remembered, want up to %d", n, rememberedMax)
	}
	for i := range m.shards {
		if n := len(m.shards[i].values); n > shardMax {
			t.Errorf("%d values have one lock, want %d", n, shardMax)
		}
	}
	m.send([]byte("a"))
	m.refuse([]byte("a"), now, 0, remembered{until: now.Add(time.Minute).UnixNano()})
	m.sweep(now)
	if _, refused := m.recall([]byte("a"), now); !refused {
		t.Error("a sweep forgets a refusal that stands")
	}
	m.sweep(now.Add(2 * time.Hour))
	if r, refused := m.recall([]byte("a"), now); r.pending != 1 || refused || m.size.Load() != 1 {
		t.Errorf("after a sweep: %+v, refused %v, %d values", r, refused, m.size.Load())
	}
	m.arrive([]byte("a"))
	if m.used() {
		t.Error("something is remembered")
	}
}
