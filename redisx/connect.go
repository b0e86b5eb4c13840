package redisx

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// connectPause is the time between two looks whether the sale answers.
const connectPause = 10 * time.Millisecond

// Connect joins a sale to read from it, until leave is called. It waits as long as Redis may take to answer
// a call, or until ctx ends. The sale knows no users: it changes no carts.
func Connect(ctx context.Context, cfg Config, id string, foods int) (sale *Sale, leave func(), err error) {
	sale = Join(cfg, id, foods, 0)
	life, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { sale.Run(life) })
	leave = func() {
		cancel()
		running.Wait()
	}
	pause := time.NewTicker(connectPause)
	defer pause.Stop()
	for limit := time.Now().Add(cfg.Timeout); ; {
		err = sale.Check()
		if ctx.Err() != nil {
			err = ctx.Err()
			break
		}
		if err == nil || errors.Is(err, ErrSaleGone) || time.Now().After(limit) {
			break
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
	if err != nil {
		leave()
		return nil, nil, fmt.Errorf("cannot read the orders of sale %s: %w", id, err)
	}
	return sale, leave, nil
}
