package load

import (
	"strconv"
	"time"
)

// retrying repeats a request without an answer, or with an answer of 500 and above; an order keeps its
// Idempotency-Key. The zero value repeats nothing.
type retrying struct {
	triesMax           int // of one request, and carts of one flow
	pauseMin, pauseMax time.Duration
}

// settling is for -retry. All its pauses together give Redis time to restart; the longest pause is the
// server's Retry-After.
var settling = retrying{triesMax: 20, pauseMin: 50 * time.Millisecond, pauseMax: time.Second}

// The kinds of retries in the report.
const (
	retryRequest = "sent again"
	retryCart    = "put into a new cart"
)

func (r retrying) on() bool { return r.triesMax > 1 }

// pause is the time between try n, from 1 on, and the next: doubled each time. Half of it is random, so that
// buyers refused together do not come back together.
func (r retrying) pause(n int, dice func(int64) int64) time.Duration {
	pause := r.pauseMax
	if doubled := r.pauseMin << (n - 1); n <= 10 && doubled < pause {
		pause = doubled
	}
	return pause/2 + time.Duration(dice(int64(pause/2)+1))
}

// orderKey is the Idempotency-Key of a user's order in this run.
func orderKey(seed uint64, user uint32) string {
	return "bench-" + strconv.FormatUint(seed, 36) + "-" + strconv.FormatUint(uint64(user), 10)
}
