package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"flashsale/internal/catalog"
)

// load sends buyers through the sale.
type load struct {
	opt   options
	foods []catalog.Food
	users []catalog.User // each buys once
	// Open loop: when each user's flow is meant to start, since began; nil in the closed loop.
	starts []time.Duration
	ended  atomic.Int64 // flows that came to an end, for the progress bar
	next   atomic.Int64 // index of the next user
	began  time.Time
}

// loadResult is what a load leaves behind.
type loadResult struct {
	attempts    []attempt // of the flows that were begun
	tally       *tally
	elapsed     time.Duration
	cpu         time.Duration // user and system time of this process
	interrupted bool          // by a signal
}

func newLoad(opt options, foods []catalog.Food, users []catalog.User) *load {
	l := &load{opt: opt, foods: foods, users: users}
	if opt.rate > 0 {
		l.starts = poissonArrivals(len(users), opt.rate, opt.seed, opt.duration)
		l.users = users[:len(l.starts)]
	}
	return l
}

// run is the closed loop or, with -rate, the open one. The buyers share the users out among them. In the closed loop each
// begins the next flow when its last one ended; run returns when all users had their turn or, with the requests under way
// answered, when ctx or -duration ends. In the open loop each waits for the intended start of its next flow, and one that
// is late begins at once; -duration ends the intended starts and all flows come to their end, so that slow ones count.
func (l *load) run(ctx context.Context) loadResult {
	bounded := ctx
	if l.opt.duration > 0 && l.starts == nil {
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeout(ctx, l.opt.duration)
		defer cancel()
	}
	tallies := make([]*tally, 4*runtime.GOMAXPROCS(0))
	for i := range tallies {
		tallies[i] = newTally()
	}
	attempts := make([]attempt, len(l.users))
	cpuBefore := processCPU()
	l.began = time.Now()
	var buyers sync.WaitGroup
	for i := range min(l.opt.concurrency, len(l.users)) {
		buyers.Go(func() { l.shop(bounded, tallies[i%len(tallies)], attempts) })
	}
	buyers.Wait()

	result := loadResult{elapsed: time.Since(l.began), cpu: processCPU() - cpuBefore, tally: newTally()}
	for _, t := range tallies {
		result.tally.merge(t)
	}
	seconds := int(result.elapsed/time.Second) + 1
	result.tally.placed = result.tally.placed.extend(seconds)
	result.tally.second(seconds - 1)
	attempts = attempts[:min(int(l.next.Load()), len(attempts))]
	// Buyers who waited for a start when ctx ended have not begun.
	result.attempts = slices.DeleteFunc(attempts, func(a attempt) bool { return a.userID == 0 })
	result.interrupted = ctx.Err() != nil
	return result
}

// shop is one buyer's loop. Each flow writes its own place among the attempts.
func (l *load) shop(ctx context.Context, tally *tally, attempts []attempt) {
	b := newBuyer(newClient(l.opt.servers, l.opt.tls, l.opt.timeout), l.opt, l.foods, tally, l.began)
	var pace pacer
	for ctx.Err() == nil {
		i := int(l.next.Add(1)) - 1
		if i >= len(l.users) {
			break
		}
		intended := time.Now()
		if l.starts != nil {
			intended = l.began.Add(l.starts[i])
			late, ok := pace.wait(ctx, intended)
			if !ok {
				break
			}
			tally.start(late)
		}
		attempts[i] = b.buy(ctx, l.users[i], intended)
		l.ended.Add(1)
	}
	b.client.close()
	tally.move(b.client.traffic)
}

// processCPU returns the user and system time that this process has used so far.
func processCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(fmt.Errorf("cannot read own CPU time: %w", err)) // only a wrong argument fails
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
