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
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var last []int64
	for {
		if stock, err := s.Stock(); err == nil && !slices.Equal(stock, last) {
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
