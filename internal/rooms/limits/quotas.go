package limits

import (
	"hash/maphash"
	"slices"
	"sync/atomic"
	"time"
)

// quotaPlaces is the number of places of quotas.
const quotaPlaces = 1 << 16

// quotas bound the calls of each value in this process, without Redis: for calls that cost Redis less than
// to count them. A place holds when a value has its whole quota again, in Unix nanoseconds (the generic cell
// rate algorithm). A hash chooses the place, with a secret: two values that share a place share a quota, and
// no client can choose with whom. The zero value is ready; it is safe for concurrent use.
type quotas struct {
	whole [quotaPlaces]atomic.Int64
}

// take takes a call from the quota of a value for a rate; n is the place of the rate in its rule. It returns
// how long to wait if nothing is left, and how long it takes until all is there again. A window admits the
// rate's calls at once, and as many more while it goes by.
func (q *quotas) take(value []byte, n int, rate Rate, now time.Time) (wait, reset time.Duration) {
	place := &q.whole[(maphash.Bytes(memorySeed, value)+uint64(n))%quotaPlaces]
	for {
		old := place.Load()
		next := max(old, now.UnixNano()) + int64(rate.Window)/rate.Calls
		reset = time.Duration(next - now.UnixNano())
		if wait = reset - rate.Window; wait > 0 {
			return wait, reset
		}
		if place.CompareAndSwap(old, next) {
			return 0, reset
		}
	}
}

// Take counts a call of an event whose calls each process counts by itself (isLocal), and reports whether it
// is refused, and why.
func (l *Limiter) Take(event Event, w Who, now time.Time) (d Decision, refused bool) {
	e := l.rules.Load().own[event]
	if e == nil {
		return d, false
	}
	var scratch [valueMax + addressBytes]byte
	// The user comes before the address: calls that are refused to one user cost the neighbours nothing.
	for _, limit := range slices.Backward(e.limits) {
		value := w.value(limit, scratch[:0])
		if value == nil {
			continue
		}
		for i, rate := range limit.of(value).rates {
			wait, reset := limit.quotas.take(value, i, rate.Rate, now)
			switch {
			case wait <= 0:
			case rate.shadow:
				l.noteShadow(rate, limit)
			default:
				return Decision{Feature: limit.feature, Rate: rate.Rate, RetryAfter: wait, Reset: reset}, true
			}
		}
	}
	return d, false
}
