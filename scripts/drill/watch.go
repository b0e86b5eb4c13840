package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/proc"
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

// watch keeps the largest figures of any worker.
type watch struct {
	buyers int // of the load

	mu                          sync.Mutex
	memory, goroutines, threads int64 // memory in kB

	cancel context.CancelFunc
	done   sync.WaitGroup
}

func startWatch(ctx context.Context, servers []*server, buyers int) *watch {
	ctx, cancel := context.WithCancel(ctx)
	w := &watch{buyers: buyers, cancel: cancel}
	for _, s := range servers {
		w.done.Go(func() {
			for ctx.Err() == nil {
				w.look(ctx, s)
				background.Pause(ctx, watchEvery)
			}
		})
	}
	return w
}

func (w *watch) stop() {
	w.cancel()
	w.done.Wait()
}

func (w *watch) look(ctx context.Context, s *server) {
	host, text, _ := net.SplitHostPort(s.profiles)
	first, _ := strconv.Atoi(text) // the drill has made this address
	for i, pid := range s.workers() {
		status, err := proc.ReadStatus(pid)
		if err != nil {
			continue // the process has just ended
		}
		goroutines := countGoroutines(ctx, net.JoinHostPort(host, strconv.Itoa(first+i)))
		w.mu.Lock()
		w.memory, w.threads = max(w.memory, status.Resident>>10), max(w.threads, status.Threads)
		w.goroutines = max(w.goroutines, goroutines)
		w.mu.Unlock()
	}
}

// countGoroutines asks a worker's profiles; 0 without an answer, as from a frozen worker.
func countGoroutines(ctx context.Context, address string) (n int64) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, "GET", "http://"+address+"/debug/pprof/goroutine?debug=1",
		nil)
	if err != nil {
		return 0
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	line, _ := bufio.NewReader(response.Body).ReadString('\n')
	_, _ = fmt.Sscanf(line, "goroutine profile: total %d", &n) // anything else counts as no answer
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
