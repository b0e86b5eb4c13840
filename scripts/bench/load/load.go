package load

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"flashsale/internal/catalog"
	"flashsale/scripts/bench/sale"
)

// Load sends buyers through the sale.
type Load struct {
	opt   Options
	foods []catalog.Food
	users []catalog.User // each buys once
	// Open loop: the intended start of each user's flow, since began; nil in the closed loop.
	starts []time.Duration
	ended  atomic.Int64 // flows that have ended, for the progress bar
	next   atomic.Int64 // index of the next user
	began  time.Time
}

// Result is the outcome of a load.
type Result struct {
	Attempts    []sale.Attempt // of the flows that were begun
	Tally       *Tally
	opt         Options
	Elapsed     time.Duration
	CPU         time.Duration // user and system time of this process
	Interrupted bool          // by a signal
}

// Flows is the number of flows that the load will begin.
func (l *Load) Flows() int { return len(l.users) }

// Ended is the number of flows that have ended.
func (l *Load) Ended() int64 { return l.ended.Load() }

// New prepares a load by these users.
func New(opt Options, foods []catalog.Food, users []catalog.User) *Load {
	l := &Load{opt: opt, foods: foods, users: users}
	if opt.Rate > 0 {
		l.starts = PoissonArrivals(len(users), opt.Rate, opt.Seed, opt.Duration)
		l.users = users[:len(l.starts)]
	}
	return l
}

// Run is the closed loop or, with -rate, the open loop. The buyers share the users. In the closed loop each
// buyer begins the next flow when its last flow has ended; Run returns after all users or, with the requests
// under way answered, when ctx or -duration ends. In the open loop each buyer waits for the intended start
// of its next flow, and begins at once if late; after -duration no flow starts, but all flows under way end,
// so that slow flows count.
func (l *Load) Run(ctx context.Context) Result {
	bounded := ctx
	if l.opt.Duration > 0 && l.starts == nil {
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeout(ctx, l.opt.Duration)
		defer cancel()
	}
	tallies := make([]*Tally, 4*runtime.GOMAXPROCS(0))
	for i := range tallies {
		tallies[i] = NewTally()
	}
	attempts := make([]sale.Attempt, len(l.users))
	cpuBefore := ownCPU()
	l.began = time.Now()
	var buyers sync.WaitGroup
	for i := range min(l.opt.Concurrency, len(l.users)) {
		buyers.Go(func() { l.shop(bounded, tallies[i%len(tallies)], attempts) })
	}
	buyers.Wait()

	result := Result{opt: l.opt, Elapsed: time.Since(l.began), CPU: ownCPU() - cpuBefore,
		Tally: NewTally()}
	for _, t := range tallies {
		result.Tally.Merge(t)
	}
	seconds := int(result.Elapsed/time.Second) + 1
	result.Tally.placed = result.Tally.placed.Extend(seconds)
	result.Tally.second(seconds - 1)
	attempts = attempts[:min(int(l.next.Load()), len(attempts))]
	// Buyers who waited for a start when ctx ended have not begun.
	result.Attempts = slices.DeleteFunc(attempts, func(a sale.Attempt) bool { return a.UserID == 0 })
	result.Interrupted = ctx.Err() != nil
	return result
}

// shop is one buyer's loop. Each flow writes its own element of the attempts.
func (l *Load) shop(ctx context.Context, tally *Tally, attempts []sale.Attempt) {
	b := newBuyer(newClient(l.opt.Servers, l.opt.TLS, l.opt.Timeout), l.opt, l.foods, tally, l.began)
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
			tally.Start(late)
		}
		attempts[i] = b.buy(ctx, l.users[i], intended)
		l.ended.Add(1)
	}
	b.client.close()
	tally.Move(b.client.traffic)
}

// ownCPU is the user and system time of this process so far.
func ownCPU() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		panic(fmt.Errorf("cannot read own CPU time: %w", err)) // only a wrong argument fails
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
