package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/proc"
	"flashsale/internal/testkit/client"
)

const (
	watchEvery = 250 * time.Millisecond
	// Bounds of one worker: a calm one has 20 to 30 MB (200,000 users are 3 of them), a goroutine for each
	// connection and some 20 more, and about as many threads as processors.
	memoryMax = 96 << 10 // kB, resident
	threadMax = 64
)

// goroutineMax is the bound for a load of this many buyers.
func goroutineMax(buyers int) int64 { return int64(3*buyers + 100) }

// watch keeps the largest figures of any worker. They may be read after stop.
type watch struct {
	buyers                      int   // of the load
	memory, goroutines, threads int64 // memory in kB

	cancel context.CancelFunc
	done   sync.WaitGroup
}

func startWatch(ctx context.Context, servers []*server, buyers int) *watch {
	ctx, cancel := context.WithCancel(ctx)
	w := &watch{buyers: buyers, cancel: cancel}
	w.done.Go(func() {
		for ; ctx.Err() == nil; background.Pause(ctx, watchEvery) {
			for _, s := range servers {
				w.look(s)
			}
		}
	})
	return w
}

func (w *watch) stop() {
	w.cancel()
	w.done.Wait()
}

func (w *watch) look(s *server) {
	for i, pid := range s.workers() {
		status, err := proc.ReadStatus(pid)
		if err != nil {
			continue // the process has just ended
		}
		w.memory, w.threads = max(w.memory, status.Resident>>10), max(w.threads, status.Threads)
		w.goroutines = max(w.goroutines, countGoroutines(localhost(s.profiles+i)))
	}
}

// countGoroutines asks a worker's profiles; 0 without an answer, as from a frozen worker.
func countGoroutines(address string) (n int64) {
	c := client.Client{Address: address, Timeout: time.Second, NewConnections: true}
	r, err := c.Do("GET", "/debug/pprof/goroutine?debug=1", "")
	if err == nil {
		_, _ = fmt.Sscanf(r.Body, "goroutine profile: total %d", &n) // anything else counts as no answer
	}
	return n
}

// excess names each broken bound.
func (w *watch) excess() (found []string) {
	for _, bound := range []struct {
		what      string
		seen, max int64
	}{
		{"kB of memory", w.memory, memoryMax}, {"goroutines", w.goroutines, goroutineMax(w.buyers)},
		{"threads", w.threads, threadMax},
	} {
		if bound.seen > bound.max {
			found = append(found, fmt.Sprintf("a worker had %d %s, the bound is %d", bound.seen, bound.what,
				bound.max))
		}
	}
	return found
}
