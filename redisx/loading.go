package redisx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/logpace"
	"flashsale/redisx/pipeline"
)

// loadingRetry is the pause between two checks of a Redis that loads its data.
const loadingRetry = 100 * time.Millisecond

// AwaitLoaded returns once Redis serves commands. It waits, until ctx ends, for a Redis that loads its data
// from disk after a start, and logs that at once and then every ten seconds. It returns any other fault at
// once.
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
	l, err := pipeline.Dial(ctx, cfg.Home())
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
