// Package pipeline is the one client of Redis in this house. The sale has one, and every room that keeps
// something in Redis has one of its own, so that a slow room cannot delay an order. It knows commands,
// scripts and replies, and nothing of a sale.
//
// A Conn sends what waits at the same moment as one pipeline: a call costs a share of one round trip.
// Every call is answered within Config.Timeout, with ErrUnavailable where Redis does not answer in time.
// A Link is a connection without that, for one goroutine: for calls at the start, and for those that take
// longer.
//
// It is slow where one caller sends its calls one after another: each of them waits for a round trip then.
package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"flashsale/internal/logpace"
	"flashsale/internal/rawio"
)

const (
	queueMax   = 8192                   // calls that may wait on one connection; the next is refused at once
	paceWeight = 8                      // weight of the pace so far against that of a new batch
	batchMax   = 256                    // calls sent as one pipeline
	retryMin   = 10 * time.Millisecond  // pause before the first redial
	retryMax   = 500 * time.Millisecond // the longest pause: service resumes within a second
)

// Conn is one connection to Redis and the goroutine that owns it, Run. The owner takes one call, lets
// every goroutine that can run add its own, and sends what waits as one pipeline. Only the owner touches
// the connection. Every batch has the deadline of its oldest call; when one fails, the connection is
// dropped and everything that waits fails with it. Its other methods are safe for concurrent use.
type Conn struct {
	cfg  Config
	opts Options

	queue chan *Call
	up    atomic.Bool  // false: calls are refused without queueing
	pace  atomic.Int64 // smoothed time that a full batch takes, nanoseconds; the owner writes it

	complaints logpace.Pace
	overload   logpace.Pace
}

// New makes a Conn. Run must run for its calls to be answered.
func New(cfg Config, opts Options) *Conn {
	opts.Scripts = slices.Clone(opts.Scripts)
	for slot, shared := range opts.Shared {
		shared.slot = slot
		opts.Scripts = append(opts.Scripts, shared.Script)
	}
	return &Conn{cfg: cfg, opts: opts, queue: make(chan *Call, queueMax)}
}

// Do sends a call, waits for its replies and frees it. It returns within Config.Timeout. Errors:
// ErrUnavailable, also for an error reply, with its words.
func (c *Conn) Do(x *Call) error {
	_, err := c.DoInteger(x)
	return err
}

// DoInteger is Do for a call with an integer as its Result. It does not allocate.
func (c *Conn) DoInteger(x *Call) (int64, error) {
	defer x.Free()
	if !c.Send(x, wakes{}) {
		return 0, ErrUnavailable
	}
	<-x.done
	return x.Result()
}

// Detach sends a call without a caller that waits. A call that cannot be sent is dropped.
func (c *Conn) Detach(x *Call) {
	if !c.Send(x, frees{}) {
		x.Free()
	}
}

// Send queues a call, to be completed within Config.Timeout. It reports whether it could: where not,
// because Redis is away or too much waits, the call stays the caller's and is not completed.
func (c *Conn) Send(x *Call, completion Completion) bool {
	if !c.up.Load() {
		return false
	}
	if c.late() {
		c.noteOverload()
		return false
	}
	x.completion = completion
	if x.queued.IsZero() {
		x.queued = time.Now()
	}
	select {
	case c.queue <- x:
		return true
	default: // the queue is full
		c.noteOverload()
		return false
	}
}

// noteOverload logs that calls are refused because too many wait.
func (c *Conn) noteOverload() {
	if n := c.overload.Due(time.Now()); n > 0 {
		slog.Warn("calls to Redis are refused: more wait than it answers in half of -redis-timeout",
			"redis", c.cfg.Address, "refused", n)
	}
}

// late reports whether a new call would be refused as stale when its turn comes, because whole batches wait
// before it. It is better refused at once, while its client still listens.
func (c *Conn) late() bool {
	return int64(len(c.queue)/batchMax)*c.pace.Load() > int64(c.cfg.Timeout/2)
}

// Run keeps the connection until ctx ends, and returns nil then. Calls must have ended before: later ones
// are not answered.
func (c *Conn) Run(ctx context.Context) error {
	out := outage{redis: c.cfg.Address, effect: c.opts.Outage, reason: c.opts.Reason}
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
			return nil
		}
		out.note(err)
		delay = min(max(2*delay, retryMin), retryMax)
	}
}

// redial dials after the delay. Calls that still arrive meanwhile are refused.
func (c *Conn) redial(ctx context.Context, delay time.Duration) (*Link, error) {
	type result struct {
		l   *Link
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
		l, err := dial(ctx, c.cfg, c.opts.FieldsMax)
		if err == nil {
			if err = c.prepare(l, c.cfg.Timeout); err != nil {
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
			x.complete(ErrUnavailable)
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
	return l.load(c.opts.Scripts, time.Until(deadline))
}

// serve answers calls until the connection fails or ctx ends.
func (c *Conn) serve(ctx context.Context, l *Link) error {
	poller, err := rawio.NewPoller()
	if err != nil {
		return err
	}
	defer poller.Close()
	b := newBatch(c.opts.Shared)
	for {
		select {
		case x := <-c.queue:
			// A yield lets every runnable goroutine queue its call first. The look at the network before
			// it lets those join that have only just got their request. Both make batches longer and a
			// call cheaper: the tuning table (scripts/bench/TUNING.md) has the figures.
			if err := poller.Poll(); err != nil {
				x.complete(ErrUnavailable)
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
			b.complete(ErrUnavailable)
			c.refuseWaiting()
			return err
		}
		c.complain(b)
		b.complete(nil)
	}
}

// collect gathers what waits, at most batchMax calls. A call that has already waited half its time is
// refused: sent now it would leave its batch too little time, and all calls of the batch would fail with
// it.
func (c *Conn) collect(b *batch, x *Call) {
	stale := time.Now().Add(-c.cfg.Timeout / 2)
	for {
		if x.queued.Before(stale) {
			c.noteOverload()
			x.complete(ErrUnavailable)
		} else if b.add(x); len(b.calls) == batchMax {
			return
		}
		select {
		case x = <-c.queue:
		default:
			return
		}
	}
}

// exchange sends the batch and reads its replies. Calls of a script that Redis did not know (after SCRIPT
// FLUSH) were not carried out: the scripts are loaded and those calls sent once more.
func (c *Conn) exchange(l *Link, b *batch) error {
	deadline := b.oldest.Add(c.cfg.Timeout)
	sent := time.Now()
	if err := l.roundTrip(b, deadline); err != nil {
		return err
	}
	if len(b.calls) == batchMax {
		// Smoothed: one slow write to a disk tells nothing about the next batches.
		c.pace.Add((int64(time.Since(sent)) - c.pace.Load()) / paceWeight)
	}
	if !b.unknownScript {
		return nil
	}
	again := newBatch(c.opts.Shared)
	for _, x := range b.calls {
		if x.script != nil && errors.Is(x.err, errNoScript) {
			again.add(x)
		}
	}
	slog.Warn("Redis has lost the scripts; loading them again",
		"redis", c.cfg.Address, "calls", len(again.calls))
	if err := c.prepare(l, time.Until(deadline)); err != nil {
		return err
	}
	return l.roundTrip(again, deadline)
}

// complain logs error replies, at most one line in logpace.Interval: thousands of calls may get the same
// one.
func (c *Conn) complain(b *batch) {
	if !b.failed {
		return
	}
	batches := c.complaints.Due(time.Now())
	if batches == 0 {
		return
	}
	for _, x := range b.calls {
		if x.err != nil {
			slog.Error("Redis refused a command", "redis", c.cfg.Address, "error", x.err, "batches", batches)
			return
		}
	}
}

func (c *Conn) refuseWaiting() {
	for {
		select {
		case x := <-c.queue:
			x.complete(ErrUnavailable)
		default:
			return
		}
	}
}
