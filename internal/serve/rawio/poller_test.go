package rawio

import (
	"flashsale/internal/testkit"
	"runtime"
	"sync/atomic"
	"testing"
)

// With one processor, a goroutine with a readable socket gets its turn after Poll and a yield. (After a
// yield alone it does not. The scheduler may still prefer a goroutine that has yielded, once in 61 turns.)
func TestPollLetsReadersGoFirst(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const rounds = 1000
	raw, other := pair(t)
	p, err := NewPoller()
	testkit.Must(t, err)
	defer p.Close()
	var read atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 1)
		for range rounds {
			if _, err := raw.Read(b); err != nil {
				t.Error(err)
			}
			read.Add(1)
		}
	}()
	inTime := 0
	for i := range int64(rounds) {
		other.Write([]byte("x"))
		testkit.Must(t, p.Poll())
		runtime.Gosched()
		if read.Load() == i+1 {
			inTime++
		}
		for read.Load() != i+1 {
			runtime.Gosched()
		}
	}
	<-done
	if inTime < rounds*8/10 {
		t.Errorf("%d of %d readers got their turn", inTime, rounds)
	}
}

func TestPollDoesNotAllocate(t *testing.T) {
	p, err := NewPoller()
	testkit.Must(t, err)
	if n := testkit.Allocations(func() { p.Poll() }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
	p.Close()
	if err := p.Poll(); err == nil {
		t.Error("a closed Poller polls")
	}
}
