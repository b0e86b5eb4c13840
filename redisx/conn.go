package redisx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"flashsale/internal/rawio"
)

const (
	queueMax   = 8192                   // calls that may wait on one connection; one more is refused at once
	paceWeight = 8                      // a batch counts for so much of the pace: 1/8
	batchMax   = 256                    // calls sent as one pipeline
	retryMin   = 10 * time.Millisecond  // pause before the first redial
	retryMax   = 500 * time.Millisecond // and the longest one, so that service resumes within a second
	complains  = time.Second            // at most one line about error replies in this time
)

// conn is one connection to Redis and the goroutine that owns it. The owner takes one call, lets every
// handler that can run add its own, and sends what waits as one pipeline. Nobody else touches
// the connection, and nobody waits longer than the timeout: every batch has the deadline of its oldest call,
// and when one fails the connection is dropped and everything that waits fails with it.
type conn struct {
	cfg     Config
	scripts []*evaluation                    // that its calls may run
	greet   func(*link, time.Duration) error // runs on each new connection before any call, for so long at most

	queue chan *call
	up    atomic.Bool  // false: calls are refused without queueing
	pace  atomic.Int64 // how long full batches take, smoothed, nanoseconds; the owner writes it

	complained time.Time
}

func newConn(cfg Config, scripts []*evaluation, greet func(*link, time.Duration) error) *conn {
	return &conn{cfg: cfg, scripts: scripts, greet: greet, queue: make(chan *call, queueMax)}
}

// do sends a call and waits for its replies. It returns within the timeout of the Config.
func (c *conn) do(x *call) error {
	if !c.send(x) {
		return ErrUnavailable
	}
	<-x.done
	return x.err
}

// send queues a call; false where that is not possible, and then the call stays the caller's.
func (c *conn) send(x *call) bool {
	if !c.up.Load() || c.late() {
		return false
	}
	if x.queued.IsZero() {
		x.queued = time.Now()
	}
	select {
	case c.queue <- x:
		return true
	default:
		return false // the queue is full
	}
}

// late says that a call that comes now would be refused as stale in the end, because whole batches wait before it: it is
// better refused at once, while its client still listens.
func (c *conn) late() bool {
	return int64(len(c.queue)/batchMax)*c.pace.Load() > int64(c.cfg.Timeout/2)
}

// run keeps the connection until ctx ends. Calls must have ended before: what comes later is not answered.
func (c *conn) run(ctx context.Context) {
	out := outage{redis: c.cfg.Address}
	for delay := time.Duration(0); ; {
		l, err := c.redial(ctx, delay)
		if err == nil {
			out.end()
			delay = 0
			c.up.Store(true)
			err = c.serve(ctx, l)
			c.up.Store(false)
			l.Close()
		}
		if ctx.Err() != nil {
			c.refuseWaiting()
			return
		}
		out.note(err)
		delay = min(max(2*delay, retryMin), retryMax)
	}
}

// redial dials after the delay and refuses in the meantime what still arrives.
func (c *conn) redial(ctx context.Context, delay time.Duration) (*link, error) {
	type result struct {
		l   *link
		err error
	}
	dialed := make(chan result, 1)
	go func() {
		pause := time.NewTimer(delay)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
		l, err := dial(ctx, c.cfg)
		if err == nil {
			if err = c.greet(l, c.cfg.Timeout); err != nil {
				l.Close()
			}
		}
		dialed <- result{l, err}
	}()
	for {
		select {
		case r := <-dialed:
			return r.l, r.err
		case x := <-c.queue:
			x.refuse()
		}
	}
}

// serve answers calls until the connection fails or ctx ends.
func (c *conn) serve(ctx context.Context, l *link) error {
	poller, err := rawio.NewPoller()
	if err != nil {
		return err
	}
	defer poller.Close()
	b := newBatch(c.scripts)
	for {
		select {
		case x := <-c.queue:
			// A yield lets every runnable handler queue its call first: 85 -> 65 us of CPU per order. With the look
			// at the network before it, those join whose requests have only just arrived: 0.95 of that (64 buyers).
			if err := poller.Poll(); err != nil {
				x.refuse()
				return err
			}
			runtime.Gosched()
			c.collect(b, x)
		case <-ctx.Done():
			return ctx.Err()
		}
		if len(b.calls) == 0 {
			continue
		}
		if err := c.exchange(l, b); err != nil {
			c.up.Store(false)
			b.finish(ErrUnavailable)
			c.refuseWaiting()
			return err
		}
		c.complain(b)
		b.finish(nil)
	}
}

// collect gathers what waits, at most batchMax calls. A call that has already waited half its time is
// refused: sent now it would leave its batch too little time and take the others down with it.
func (c *conn) collect(b *batch, x *call) {
	b.calls = b.calls[:0]
	stale := time.Now().Add(-c.cfg.Timeout / 2)
	for {
		if x.queued.Before(stale) {
			x.refuse()
		} else if b.calls = append(b.calls, x); len(b.calls) == batchMax {
			return
		}
		select {
		case x = <-c.queue:
		default:
			return
		}
	}
}

// exchange sends the batch and reads its replies. Calls whose script Redis did not know (after SCRIPT FLUSH)
// were not carried out: the scripts are loaded and those calls sent once more.
func (c *conn) exchange(l *link, b *batch) error {
	deadline := b.oldest().Add(c.cfg.Timeout)
	sent := time.Now()
	if err := l.roundTrip(b, deadline); err != nil {
		return err
	}
	if len(b.calls) == batchMax {
		// Smoothed: one slow write to a disk says nothing of the next batches.
		c.pace.Add((int64(time.Since(sent)) - c.pace.Load()) / paceWeight)
	}
	if !b.unknownScript {
		return nil
	}
	again := newBatch(c.scripts)
	for _, x := range b.calls {
		if errors.Is(x.err, errNoScript) {
			again.calls = append(again.calls, x)
		}
	}
	slog.Warn("Redis has lost the scripts; loading them again", "redis", c.cfg.Address, "calls", len(again.calls))
	if err := c.greet(l, time.Until(deadline)); err != nil {
		return err
	}
	return l.roundTrip(again, deadline)
}

// complain logs error replies, at most one line a second: thousands of calls may get the same one.
func (c *conn) complain(b *batch) {
	if !b.failed || time.Since(c.complained) < complains {
		return
	}
	for _, x := range b.calls {
		if x.err != nil {
			slog.Error("Redis refused a command", "redis", c.cfg.Address, "error", x.err)
			c.complained = time.Now()
			return
		}
	}
}

func (c *conn) refuseWaiting() {
	for {
		select {
		case x := <-c.queue:
			x.refuse()
		default:
			return
		}
	}
}

// dial opens a connection within the timeout.
func dial(ctx context.Context, cfg Config) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	l := &link{foods: cfg.foods}
	l.deadline.Store(time.Now().Add(cfg.Timeout).UnixNano())
	rc, err := radix.Dialer{
		AuthUser:    cfg.Username,
		AuthPass:    cfg.Password,
		NetDialer:   l,
		NewRespOpts: newRespOpts,
	}.Dial(ctx, cfg.Network, cfg.Address)
	var refused resp3.SimpleError // to the password
	switch {
	case errors.As(err, &refused):
		return nil, fmt.Errorf("cannot log in to Redis at %s: %w", cfg.Address, replyError(refused.S))
	case err != nil:
		return nil, fmt.Errorf("cannot reach Redis at %s: %w", cfg.Address, err)
	}
	l.Conn = rc
	return l, nil
}
