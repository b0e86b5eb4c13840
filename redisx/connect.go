package redisx

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"flashsale/internal/background"
)

// connectPause is the time between two checks whether the sale answers.
const connectPause = 10 * time.Millisecond

// Connect is Join for a command that needs a sale for a short time, without users: it runs the sale until
// leave is called. It waits until Redis answers, for at most the timeout of a call, or until ctx ends.
func Connect(ctx context.Context, cfg Config, id string, foods int) (sale *Sale, leave func(), err error) {
	sale = Join(cfg, id, foods, 0)
	life, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { sale.Run(life) })
	leave = func() {
		cancel()
		running.Wait()
	}
	if err := sale.awaitAnswer(ctx, cfg.Timeout); err != nil {
		leave()
		return nil, nil, fmt.Errorf("cannot read the orders of sale %s: %w", id, err)
	}
	return sale, leave, nil
}

// awaitAnswer returns once Redis has answered, after the limit, or when ctx ends.
func (s *Sale) awaitAnswer(ctx context.Context, limit time.Duration) error {
	for begin := time.Now(); ; {
		err := s.Check()
		if !errors.Is(err, ErrUnavailable) || time.Since(begin) > limit {
			return err
		}
		if !background.Pause(ctx, connectPause) {
			return ctx.Err()
		}
	}
}
