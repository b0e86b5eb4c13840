package redisx

import (
	"context"
	"slices"
	"strconv"
	"time"

	"flashsale/redisx/pipeline"
)

// firstRetry is the pause after a failed first look at the stock.
const firstRetry = 10 * time.Millisecond

// Stock returns the pieces left of food 1, 2, 3, ...; ErrSaleGone where Redis does not hold this sale.
func (s *Sale) Stock() ([]int64, error) {
	var found presence
	var fields map[string]string
	x := s.prove(pipeline.NewCall(), &found).Command(&fields, "HGETALL", s.stockKey)
	if err := s.read(x, &found); err != nil {
		return nil, err
	}
	stock := make([]int64, s.foods)
	for i := range stock {
		pieces, err := strconv.ParseInt(fields[strconv.Itoa(i+1)], 10, 64)
		if err != nil {
			return nil, s.observe(presence{})
		}
		stock[i] = pieces
	}
	s.cfg.Figures.StockRead.Set(time.Now().UnixNano())
	return stock, nil
}

// Snapshot hands the stock to publish, at once and then every interval in which it changed, until ctx
// ends. At first it waits for the connection for changes too: a server takes requests once it has the stock.
// While Redis does not answer, the last stock stands. Snapshot also notices, within an interval, that Redis
// was emptied or that the sale is back.
func (s *Sale) Snapshot(ctx context.Context, interval time.Duration, publish func(stock []int64)) {
	tick := time.NewTimer(0)
	defer tick.Stop()
	var last []int64
	for {
		// Every process looks at the same moments of the clock, so that their lists change together.
		tick.Reset(time.Until(time.Now().Truncate(interval).Add(interval)))
		switch stock, err := s.Stock(); {
		case (err != nil || !s.changes.Up()) && last == nil:
			tick.Reset(firstRetry) // nothing can be listed yet
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
