package redisx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/logpace"
	"flashsale/redisx/pipeline"
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

// loadingRetry is the pause between two checks of a Redis that loads its data.
const loadingRetry = 100 * time.Millisecond

// AwaitLoaded returns once all Redis masters that answer serve commands. It waits, until ctx ends, for a
// Redis that loads its data from disk after a start, and logs that at once and then every ten seconds. It
// logs a master that does not answer: only its slices are away. If none answers, that is the error.
func AwaitLoaded(ctx context.Context, cfg Config) error {
	var pace logpace.Pace
	for {
		err := ping(ctx, cfg)
		if !errors.Is(err, pipeline.ErrLoading) {
			return err
		}
		if pace.Due(time.Now()) > 0 {
			slog.Warn("Redis still reads its data from disk; the start goes on when it is ready",
				"redis", cfg.Address)
		}
		if !background.Pause(ctx, loadingRetry) {
			return fmt.Errorf("stopped while Redis was reading its data: %w", err)
		}
	}
}

func ping(ctx context.Context, cfg Config) error {
	masters, err := cfg.masters(ctx)
	if err != nil {
		return err
	}
	var away []error
	for _, one := range masters {
		switch err := pingOne(ctx, cfg, one); {
		case errors.Is(err, pipeline.ErrLoading):
			return err
		case err != nil:
			away = append(away, err)
		}
	}
	if len(away) == len(masters) {
		return firstOf(away)
	}
	for _, err := range away {
		slog.Warn("a Redis does not answer; its slices of the sale are away", "error", err)
	}
	return nil
}

func pingOne(ctx context.Context, cfg Config, one pipeline.Config) error {
	l, err := pipeline.Dial(ctx, one)
	if err != nil {
		return err
	}
	defer l.Close()
	return sayPing(l, cfg)
}

// sayPing sends a PING, to get an error that has nothing to do with the sale.
func sayPing(l *pipeline.Link, cfg Config) error {
	var pong string
	if err := l.Do(pipeline.Command(&pong, "PING"), cfg.Timeout); err != nil {
		return fmt.Errorf("cannot use Redis at %s: %w", cfg.Address, err)
	}
	return nil
}
