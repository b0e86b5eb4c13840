// Package background has the waits of tasks that run beside the requests: for a time, at an interval, and
// longer after each failure.
package background

import (
	"context"
	"sync"
	"time"
)

// Pause waits for a time or until ctx ends. It returns false once ctx has ended.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// Every calls do at the end of each interval until ctx ends. After a call that took longer than the
// interval, the next call follows at once and the missed calls are left out.
func Every(ctx context.Context, interval time.Duration, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			do()
		case <-ctx.Done():
			return
		}
	}
}

// Repeat calls step until ctx ends: at once, then each time after the pause that step has returned.
func Repeat(ctx context.Context, step func() (pause time.Duration)) {
	for ctx.Err() == nil && Pause(ctx, step()) {
	}
}

// Delay is the pause after some failures in a row: first after one, twice as long after each further one,
// and no longer than longest.
func Delay(failures int, first, longest time.Duration) time.Duration {
	delay := first
	for range failures - 1 {
		if delay >= longest {
			break
		}
		delay *= 2
	}
	return min(delay, longest)
}

// Beside runs the connection while it runs the work, and returns when both have ended.
func Beside(connection func(context.Context) error, work func()) {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = connection(ctx) }) // it has logged its faults
	work()
	stop()
	running.Wait()
}
