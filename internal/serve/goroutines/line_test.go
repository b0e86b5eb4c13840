package goroutines

import (
	"flashsale/internal/testkit"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A client that sends requests without awaiting replies queues up, with TLS and without; one that awaits
// them does not.
func TestPipelinedRequestsQueueUp(t *testing.T) {
	const requests = 10
	for _, kind := range []string{"plain", "TLS"} {
		t.Run(kind, func(t *testing.T) {
			s := open(t, kind)
			many, other := s.dial(t), s.dial(t)
			s.line.turn <- struct{}{} // another one has the turn
			many.send(strings.Repeat(get, requests))
			many.want(straightMax, "0")
			for range straightMax { // of more, a machine that pauses could take some for pipelined
				other.send(get)
				other.want(1, "0")
			}
			many.SetReadDeadline(time.Now().Add(time.Millisecond)) // what came is there already
			served := straightMax
			for _, err := many.next(); err == nil; _, err = many.next() {
				served++
			}
			if served > straightMax+1 { // the first one does not count where the server awaited it
				t.Errorf("%d pipelined requests are served before their turn", served)
			}
			<-s.line.turn
			if kind == "TLS" { // a connection with TLS is over after a deadline
				return
			}
			many.SetReadDeadline(time.Now().Add(testkit.Patience))
			many.want(requests-served, "0")
		})
	}
}

// Requests that queue up let goroutines go first that are ready.
func TestLineLetsOthersGoFirst(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	l := newLine()
	var served atomic.Int64
	var over atomic.Bool
	for range 100 {
		go func() {
			for !over.Load() {
				l.enter()
				served.Add(1)
				l.leave()
			}
		}()
	}
	defer over.Store(true)
	var waits []int64
	for range 99 {
		ran := make(chan int64, 1)
		before := served.Load()
		go func() { ran <- served.Load() }()
		waits = append(waits, <-ran-before)
	}
	slices.Sort(waits) // the scheduler may interrupt this one, too
	if median := waits[len(waits)/2]; median > 2 {
		t.Errorf("%d requests were served while another goroutine was ready, want at most 2", median)
	}
}

// The line leaves the processor to others after workMax requests, however many connections pipeline.
func TestLinePauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const conns, pauses = 20, 100
		l := newLine()
		began := time.Now() // of the bubble: it goes on only while nothing runs
		var all sync.WaitGroup
		for range conns {
			all.Go(func() {
				for range workMax * pauses / conns {
					l.enter()
					l.leave()
				}
			})
		}
		all.Wait()
		if paused := time.Since(began); paused != pauses*linePause {
			t.Errorf("the line paused for %v in %d requests, want %v", paused, workMax*pauses, pauses*linePause)
		}
	})
}
