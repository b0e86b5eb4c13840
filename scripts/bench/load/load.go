package load

import (
	"context"
	"fmt"
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
	next   atomic.Int64 // index of the next user
	began  time.Time

	clients atomic.Int64             // in the history
	last    atomic.Pointer[purchase] // in the history
}

// Result is the outcome of a load.
type Result struct {
	Attempts    []sale.Attempt // of the flows that were begun
	tally       *tally
	opt         Options
	Elapsed     time.Duration
	CPU         time.Duration // user and system time of this process
	Interrupted bool          // by a signal
}

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
	tally := newTally()
	attempts := make([]sale.Attempt, len(l.users))
	cpuBefore := ownCPU()
	l.began = time.Now()
	endRestock := l.restock()
	var buyers sync.WaitGroup
	for range min(l.opt.Concurrency, len(l.users)) {
		buyers.Go(func() { l.shop(bounded, tally, attempts) })
	}
	buyers.Wait()
	endRestock()

	result := Result{opt: l.opt, Elapsed: time.Since(l.began), CPU: ownCPU() - cpuBefore, tally: tally}
	tally.extend(int(result.Elapsed/time.Second) + 1)
	attempts = attempts[:min(int(l.next.Load()), len(attempts))]
	// Buyers who waited for a start when ctx ended have not begun.
	result.Attempts = slices.DeleteFunc(attempts, func(a sale.Attempt) bool { return a.UserID == 0 })
	result.Interrupted = ctx.Err() != nil
	return result
}

// shop is one buyer's loop. Each flow writes its own element of the attempts.
func (l *Load) shop(ctx context.Context, tally *tally, attempts []sale.Attempt) {
	b := newBuyer(newClient(l.opt.Servers, l.opt.TLS, l.opt.Timeout), l.opt, l.foods, tally, l.began)
	b.witness = l.newWitness()
	defer b.witness.close()
	for ctx.Err() == nil {
		i := int(l.next.Add(1)) - 1
		if i >= len(l.users) {
			break
		}
		intended := time.Now()
		if l.starts != nil {
			intended = l.began.Add(l.starts[i])
			late, ok := await(ctx, intended)
			if !ok {
				break
			}
			tally.start(late)
		}
		attempts[i] = b.buy(ctx, l.users[i], intended)
	}
	b.client.close()
	tally.move(b.client.traffic)
}

// ownCPU is the user and system time of this process so far.
func ownCPU() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		panic(fmt.Errorf("cannot read own CPU time: %w", err)) // only a wrong argument fails
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
