package child

import "time"

const (
	backoffFirst = 100 * time.Millisecond
	backoffMost  = time.Second // service must be back within 2 s of the end of a fault
	// A child that lived this long is healthy: when it ends, the delays begin anew.
	healthyAge = 10 * time.Second
)

// Backoff tells how long to wait before a child that ended is started again. The zero value is ready for use.
type Backoff struct {
	last time.Duration
}

// After returns the delay before the next start of a child that ended at age alive: 100 ms, doubled at each end in a
// row up to 1 s, and 100 ms again when the child had lived for 10 s.
func (b *Backoff) After(alive time.Duration) time.Duration {
	if b.last == 0 || alive >= healthyAge {
		b.last = backoffFirst
	} else {
		b.last = min(2*b.last, backoffMost)
	}
	return b.last
}
