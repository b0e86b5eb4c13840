package child

import "time"

const (
	backoffFirst = 100 * time.Millisecond
	backoffMost  = time.Second // service must be back within 2 s of the end of a fault
	// A child that lived this long is healthy: when it ends, the delays begin anew.
	healthyAge = 10 * time.Second
)

// Backoff computes the delays before a child that ended is started again. The zero value is ready for use.
type Backoff struct {
	last time.Duration
}

// After returns the delay before the next start of a child that ended at age alive. It is backoffFirst,
// doubles at each end in a row up to backoffMost, and is backoffFirst again when the child had lived for
// healthyAge.
func (b *Backoff) After(alive time.Duration) time.Duration {
	if b.last == 0 || alive >= healthyAge {
		b.last = backoffFirst
	} else {
		b.last = min(2*b.last, backoffMost)
	}
	return b.last
}
