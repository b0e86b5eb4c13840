package push

import (
	"context"
	"strconv"
	"time"

	"flashsale/internal/background"
	"flashsale/redisx/pipeline"
)

const (
	fenceFirst = 2 * time.Millisecond
	fenceMost  = 50 * time.Millisecond
	fenceLimit = 3 * time.Second
)

// Fence is for the processes that remove members: it waits until no server of the push service sends a
// removed member anything more.
type Fence struct{ redis *pipeline.Spread }

// NewFence makes a Fence. Run must run.
func NewFence(redis []pipeline.Config) *Fence {
	outage := &pipeline.Outage{Effect: "members cannot be removed"}
	return &Fence{pipeline.NewSpread(redis, pipeline.Options{Scripts: scripts, Outage: outage})}
}

// Run keeps the connections until ctx ends.
func (f *Fence) Run(ctx context.Context) error { return f.redis.Run(ctx) }

// Wait returns nil once all servers that live have taken the lines up to a position from the log of a part,
// with the line of the removal: at once if that line is the last one, else within a second. A server counts
// as dead after some seconds without a sign of life; if it wakes up, it takes that line before any later
// message. Otherwise Wait returns an ErrUnavailable after a time; the removal stands, and asking for it
// again waits again.
func (f *Fence) Wait(part int, position int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), fenceLimit)
	defer cancel()
	for tries := 1; ; tries++ {
		passed, err := f.passed(part, position)
		if passed {
			return nil
		}
		if !background.Pause(ctx, background.Delay(tries, fenceFirst, fenceMost)) {
			if err == nil {
				err = pipeline.ErrUnavailable
			}
			return err
		}
	}
}

func (f *Fence) passed(part int, position int64) (bool, error) {
	alive, err := beat(f.redis, "")
	if err != nil || len(alive) == 0 {
		return err == nil, err
	}
	var positions map[string]string
	err = f.redis.Part(part).Do(pipeline.Command(&positions, "HGETALL", partKey(part, "removed")))
	if err != nil {
		return false, err
	}
	for _, server := range alive {
		if at, err := strconv.ParseInt(positions[server], 10, 64); err != nil || at < position {
			return false, nil
		}
	}
	return true, nil
}
