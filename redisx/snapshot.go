package redisx

import (
	"context"
	"slices"
	"time"
)

// Snapshot hands the stock to publish, at once and then every interval in which it changed, until ctx ends.
// While Redis does not answer the last one stands. It is also what notices, within an interval, that Redis
// was emptied and that the sale is back.
func (s *Sale) Snapshot(ctx context.Context, interval time.Duration, publish func(stock []int64)) {
	tick := time.NewTimer(0)
	defer tick.Stop()
	var last []int64
	for {
		// Every process looks at the same moments of the clock, so that their lists change together.
		tick.Reset(time.Until(time.Now().Truncate(interval).Add(interval)))
		switch stock, err := s.Stock(); {
		case err != nil && last == nil:
			tick.Reset(retryMin) // nothing can be listed yet
		case err == nil && !slices.Equal(stock, last):
			publish(stock)
			last = stock
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
