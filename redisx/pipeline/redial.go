package pipeline

import (
	"context"
	"slices"
	"sync"
	"time"

	"flashsale/internal/background"
)

const (
	retryMin = 10 * time.Millisecond  // pause before the first redial
	retryMax = 500 * time.Millisecond // the longest pause: service resumes within a second

	// redialMax is how long a redial waits for its connection. TCP repeats a lost SYN after one second and
	// again after three: a new dial is faster.
	redialMax = time.Second
)

// Run keeps the connection until ctx ends, and returns nil then. Calls must have ended before: Run answers
// no later ones.
func (c *Conn) Run(ctx context.Context) error {
	if c.twin != nil {
		var running sync.WaitGroup
		defer running.Wait()
		running.Go(func() { _ = c.twin.Run(ctx) }) // nil
	}
	before := false // there was a connection
	for delay := time.Duration(0); ; {
		l, err := c.redial(ctx, delay)
		if err == nil {
			if before {
				c.opts.Figures.Reconnects.Inc()
			}
			before = true
			c.opts.Outage.end(c)
			begin := time.Now()
			err = c.use(ctx, l)
			if away, ok := err.(relocation); ok && ctx.Err() == nil {
				c.locator.moved = away.address
				delay = relocationDelay(delay, time.Since(begin))
				continue
			}
			delay = 0
		}
		c.up.Store(false)
		if ctx.Err() != nil {
			c.end()
			return nil
		}
		c.opts.Outage.note(c, err)
		delay = min(max(2*delay, retryMin), retryMax)
	}
}

// relocationDelay is the pause before the dial of the next master: none at first, longer ones as long as no
// connection lasts, because the nodes do not agree yet on their master.
func relocationDelay(last, used time.Duration) time.Duration {
	if used > retryMax {
		return 0
	}
	return min(max(2*last, againMin), againMax)
}

// end refuses the calls that still wait.
func (c *Conn) end() {
	if c.loop != nil {
		c.loop.end()
		return
	}
	c.refuseWaiting()
}

// use answers calls over a new connection until it fails or ctx ends.
func (c *Conn) use(ctx context.Context, l *Link) error {
	defer l.Close()
	if c.fence != nil {
		c.fence.since.Store(0)
		c.fence.alone = false // it may be another master
		defer c.keepCounting(ctx, l)()
	}
	if c.loop != nil {
		return c.loop.use(ctx, l)
	}
	c.up.Store(true)
	return c.serve(ctx, l)
}

// redial dials after the delay. Calls during that time are refused, but after a relocation they wait.
func (c *Conn) redial(ctx context.Context, delay time.Duration) (*Link, error) {
	type result struct {
		l   *Link
		err error
	}
	dialed := make(chan result, 1)
	go func() {
		background.Pause(ctx, delay) // the end of ctx ends the dial too
		limited := c.cfg
		limited.Timeout = min(limited.Timeout, redialMax)
		l, err := c.locator.dial(ctx, limited, c.opts.FieldsMax)
		if err == nil {
			if err = c.prepare(ctx, l, c.cfg.Timeout); err != nil {
				l.Close()
			}
			l.release() // the end of ctx must not cut off a batch under way
		}
		dialed <- result{l, err}
	}()
	var overdue <-chan time.Time
	if c.cfg.moves() {
		look := time.NewTicker(againMax)
		defer look.Stop()
		overdue = look.C
	}
	for {
		select {
		case r := <-dialed:
			return r.l, r.err
		case x := <-c.queue:
			if c.up.Load() && len(c.held) < QueueMax {
				c.held = append(c.held, x)
			} else {
				x.complete(ErrUnavailable)
			}
			c.opts.Waiting.Set(int64(len(c.queue)))
		case now := <-overdue:
			c.held = slices.DeleteFunc(c.held, func(x *Call) bool { return c.refused(x, now) })
		}
	}
}

// prepare greets on a connection and loads the scripts.
func (c *Conn) prepare(ctx context.Context, l *Link, limit time.Duration) error {
	deadline := time.Now().Add(limit)
	if c.opts.Greet != nil {
		if err := c.opts.Greet(l, limit); err != nil {
			return err
		}
	}
	if c.fence != nil {
		c.roster = &roster{conn: c, away: map[string]time.Time{}}
		if err := c.roster.count(ctx, l, time.Until(deadline)); err != nil {
			return err
		}
	}
	if len(c.opts.Scripts) == 0 {
		return nil
	}
	return l.Do(loading(c.opts.Scripts), time.Until(deadline))
}
