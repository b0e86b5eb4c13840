package redisx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

// Each slice opens and closes by the clock of its own Redis. So every server measures how far these clocks
// are apart. It compares each with its own clock: a reading was taken between the call and its reply, so
// half of the round trip bounds the error. With one Redis nothing is measured.

const (
	// SkewMax is how far the clocks may be apart.
	SkewMax = 50 * time.Millisecond

	// SkewRefused is the difference above which no sale is scheduled.
	SkewRefused = 500 * time.Millisecond

	readingMax = time.Minute      // age up to which a reading counts
	clockUnit  = time.Millisecond // of what state_change.lua returns
)

// ErrClocksDiffer refuses a schedule.
var ErrClocksDiffer = errors.New("the clocks of the Redis masters differ too much to schedule a sale")

// processStart is the zero of the clock of this process, which no setting of the machine's clock moves.
var processStart = time.Now()

func sinceStart() time.Duration { return time.Since(processStart) }

// clockReading is how far the clock of a Redis is ahead of the clock of this process: between low and high.
type clockReading struct{ taken, low, high time.Duration }

func readingOf(shown time.Time, sent, received time.Duration) clockReading {
	unix := time.Duration(shown.UnixNano())
	return clockReading{received, unix - received, unix + clockUnit - sent}
}

// better reports whether r replaces the reading before it: r is as exact, the other is old, or the clock was
// set between them.
func (r clockReading) better(before clockReading) bool {
	exact := r.high-r.low <= before.high-before.low
	set := r.low > before.high || r.high < before.low
	return exact || set || r.taken-before.taken > readingMax
}

// clocks are the clocks of the Redis of some slices. They are safe for concurrent use.
type clocks struct {
	mu   sync.Mutex
	best []clockReading // by slice; zero without a reading
	told atomic.Bool    // the skew was logged
}

// newClocks makes clocks without a reading. Slices with the same Redis have one clock.
func newClocks(cfg *Config) *clocks { return &clocks{best: make([]clockReading, cfg.conns())} }

// add notes what the clock of a slice has shown to a call that was sent at a time of this process.
func (c *clocks) add(slice int, shown time.Time, sent time.Duration) {
	c.keep(slice, readingOf(shown, sent, sinceStart()))
}

func (c *clocks) keep(slice int, r clockReading) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if best := &c.best[slice%len(c.best)]; r.better(*best) {
		*best = r
	}
}

// skew is the largest difference between two clocks that their readings prove.
type skew struct {
	by            time.Duration
	ahead, behind int // slices
}

func (c *clocks) skew(now time.Duration) (found skew) {
	c.mu.Lock()
	defer c.mu.Unlock()
	none := true
	for i, r := range c.best {
		if r == (clockReading{}) || now-r.taken > readingMax {
			continue
		}
		if none || r.low > c.best[found.ahead].low {
			found.ahead = i
		}
		if none || r.high < c.best[found.behind].high {
			found.behind = i
		}
		none = false
	}
	found.by = c.best[found.ahead].low - c.best[found.behind].high
	if none || found.by <= 0 {
		return skew{}
	}
	return found
}

// tell logs that the clocks differ, and later that they agree again.
func (c *clocks) tell(cfg *Config, sale string) {
	found := c.skew(sinceStart())
	switch {
	case found.by > SkewMax && c.told.CompareAndSwap(false, true):
		slog.Warn("the clocks of the Redis masters differ: the slices of the sale open and close at other moments",
			"sale", sale, "skew", found.by, "ahead", cfg.place(found.ahead), "behind", cfg.place(found.behind))
	case found.by < SkewMax/2 && c.told.CompareAndSwap(true, false):
		slog.Info("the clocks of the Redis masters agree again", "sale", sale)
	}
}

// place names the Redis of a slice for people.
func (c *Config) place(slice int) string {
	if c.Cluster {
		return "the master of slice " + c.tag(slice)
	}
	return c.Slice(slice).Address
}

// readClocks asks each Redis for its time. It leaves out a Redis that does not answer.
func (r *reach) readClocks(c *clocks) {
	if len(c.best) == 1 {
		return
	}
	var all sync.WaitGroup
	for i := range c.best {
		all.Go(func() {
			var seconds, micros int64
			sent := sinceStart()
			if r.do(i, pipeline.Command(&radix.Tuple{&seconds, &micros}, "TIME")) == nil {
				c.add(i, time.UnixMicro(seconds*1e6+micros), sent)
			}
		})
	}
	all.Wait()
}

// checkClocks returns ErrClocksDiffer if no sale may be scheduled.
func (r *reach) checkClocks(c *clocks) error {
	r.readClocks(c)
	if found := c.skew(sinceStart()); found.by > SkewRefused {
		return fmt.Errorf("%w: that of %s is %s ahead of that of %s; set them right", ErrClocksDiffer,
			r.cfg.place(found.ahead), found.by.Round(time.Millisecond), r.cfg.place(found.behind))
	}
	return nil
}

// CheckClocks returns ErrClocksDiffer if one of the times is to come and the clocks of the masters differ
// too much for it.
func (c Config) CheckClocks(ctx context.Context, times Times) error {
	if !times.toCome() {
		return nil
	}
	return dialing(ctx, &c, "").checkClocks(newClocks(&c))
}

// toCome reports whether one of the times is to come.
func (t Times) toCome() bool { return t.OpensAt.After(time.Now()) || t.ClosesAt.After(time.Now()) }

// Skew is how far the clocks of the masters are apart at least, as one question to each shows it.
func (c Config) Skew(ctx context.Context) time.Duration {
	found := newClocks(&c)
	dialing(ctx, &c, "").readClocks(found)
	return found.skew(sinceStart()).by
}
