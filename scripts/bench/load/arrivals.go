package load

import (
	"context"
	"math/rand/v2"
	"time"
)

// PoissonArrivals are the intended starts of n flows, rate a second, as times since the load began.
// Independent buyers come by a Poisson process; the seed decides its gaps. Starts after a limit are left
// out.
func PoissonArrivals(n int, rate float64, seed uint64, limit time.Duration) []time.Duration {
	dice := rand.New(rand.NewPCG(seed, 0)) // users have ids from 1, so their dice differ from these
	starts := make([]time.Duration, 0, n)
	var seconds float64
	for range n {
		seconds += dice.ExpFloat64() / rate
		start := time.Duration(seconds * float64(time.Second))
		if limit > 0 && start >= limit {
			break
		}
		starts = append(starts, start)
	}
	return starts
}

// lateness is the delay of a flow's start.
type lateness struct {
	by   time.Duration // never negative
	free bool          // a buyer was waiting for it, so the generator itself is late
}

// await returns at the intended start, at once when that has passed. It sleeps, which costs no CPU, but
// timers of the runtime fire a little late. ok is false when ctx ended first.
func await(ctx context.Context, intended time.Time) (late lateness, ok bool) {
	left := time.Until(intended)
	if left <= 0 {
		return lateness{by: -left}, ctx.Err() == nil
	}
	select {
	case <-time.After(left):
		return lateness{by: max(0, time.Since(intended)), free: true}, true
	case <-ctx.Done():
		return lateness{}, false
	}
}
