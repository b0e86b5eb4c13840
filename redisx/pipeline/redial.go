package pipeline

import (
	"context"
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
	before := false // there was a connection
	for delay := time.Duration(0); ; {
		l, err := c.redial(ctx, delay)
		if err == nil {
			if before {
				c.opts.Figures.Reconnects.Inc()
			}
			before = true
			c.opts.Outage.end(c)
			delay = 0
			err = c.use(ctx, l)
		}
		if ctx.Err() != nil {
			c.refuseWaiting()
			return nil
		}
		c.opts.Outage.note(c, err)
		delay = min(max(2*delay, retryMin), retryMax)
	}
}

// use answers calls over a new connection until it fails or ctx ends.
func (c *Conn) use(ctx context.Context, l *Link) error {
	defer l.Close()
	if c.loop != nil {
		return c.loop.use(ctx, l)
	}
	c.up.Store(true)
	defer c.up.Store(false)
	return c.serve(ctx, l)
}

// redial dials after the delay. Calls during that time are refused.
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
			if err = c.prepare(l, c.cfg.Timeout); err != nil {
				l.Close()
			}
			l.release() // the end of ctx must not cut off a batch under way
		}
		dialed <- result{l, err}
	}()
	for {
		select {
		case r := <-dialed:
			return r.l, r.err
		case x := <-c.queue:
			x.complete(ErrUnavailable)
			c.opts.Waiting.Set(int64(len(c.queue)))
		}
	}
}

// prepare greets on a connection and loads the scripts.
func (c *Conn) prepare(l *Link, limit time.Duration) error {
	deadline := time.Now().Add(limit)
	if c.opts.Greet != nil {
		if err := c.opts.Greet(l, limit); err != nil {
			return err
		}
	}
	if len(c.opts.Scripts) == 0 {
		return nil
	}
	return l.Do(loading(c.opts.Scripts), time.Until(deadline))
}
