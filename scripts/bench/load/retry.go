package load

import (
	"strconv"
	"time"
)

// retrying is how a buyer settles what it does not know: a request that got no answer, or one of 500 and
// above, is sent again, an order under the same Idempotency-Key. The zero value sends nothing again.
type retrying struct {
	triesMax           int // of one request, and carts of one flow
	pauseMin, pauseMax time.Duration
}

// settling is what -retry does. All its pauses together give a Redis time to restart; the longest one is
// what the server's Retry-After asks for.
var settling = retrying{triesMax: 20, pauseMin: 50 * time.Millisecond, pauseMax: time.Second}

// What a retry is, in the report.
const (
	retryRequest = "sent again"
	retryCart    = "put into a new cart"
)

func (r retrying) on() bool { return r.triesMax > 1 }

// pause is the time between try n, from 1 on, and the next one: doubled each time. A random half of it keeps
// those who were refused together from coming back together.
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
