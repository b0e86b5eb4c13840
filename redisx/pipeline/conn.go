// Package pipeline is the only client of Redis in this repository. The sale has a connection, and so has
// every room that keeps data in Redis, so that a slow room cannot delay an order. The package knows
// commands, scripts and replies, and nothing of a sale.
//
// A Conn sends all calls that wait at the same moment as one pipeline: a call costs a share of one round
// trip. Every call is answered within Config.Timeout and replyGrace, with ErrUnavailable if Redis does not
// answer in time: overload.go has the rules. A Link is a plain connection for one goroutine: for calls at
// the start, and for calls that take longer.
//
// Both go to one address, to the master of one slot of a cluster, or to the master that sentinels name:
// topology.go finds it, and redirect.go has the rules for a Conn when it moves.
//
// It is slow for a caller that sends calls one after another: each waits for a round trip.
package pipeline

import (
	"context"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"flashsale/internal/logpace"
	"flashsale/internal/observe/figures"
	"flashsale/internal/serve/rawio"
)

const (
	batchMax  = 256         // calls sent as one pipeline
	idleCheck = time.Second // between two checks whether Redis has closed an idle connection
)

// Conn is one connection to Redis and the goroutine that owns it, Run. The owner takes one call, lets every
// goroutine that can run add its call, and sends all of them as one pipeline. Only the owner touches the
// connection. Every batch has a deadline (replyDeadline); when a batch fails, the connection is dropped and
// all waiting calls fail. The other methods are safe for concurrent use.
type Conn struct {
	cfg     Config
	opts    Options
	locator locator // used by the dialling goroutine

	loop  *loopEngine // of a Conn on an event loop, else nil
	queue chan *Call
	up    atomic.Bool // false: calls are refused at once
	pace  pace        // noted by the owner

	held  []*Call       // they go out again, before all others; not on an event loop
	pause time.Duration // the last one before calls went out again; noted by the owner

	complaints, overload, lostScripts, detours logpace.Pace
}

// New makes a Conn. Its calls are answered only while Run runs.
func New(cfg Config, opts Options) *Conn {
	opts.Scripts = slices.Clone(opts.Scripts)
	for slot, shared := range opts.Shared {
		shared.slot = slot
		opts.Scripts = append(opts.Scripts, shared.Script)
	}
	if opts.Outage == nil {
		opts.Outage = &Outage{}
	}
	if opts.Figures == nil {
		opts.Figures = &figures.Redis{}
	}
	if opts.Waiting == nil {
		opts.Waiting = &figures.Gauge{}
	}
	c := &Conn{cfg: cfg, opts: opts}
	if opts.Loop != nil {
		c.loop = newLoopEngine(c, opts.Loop)
	} else {
		c.queue = make(chan *Call, QueueMax)
	}
	return c
}

// Up reports whether there is a connection. Without one every call fails at once.
func (c *Conn) Up() bool { return c.up.Load() }

// Do sends a call, waits for its replies and frees it. It returns within Config.Timeout and replyGrace.
// Errors: ErrUnavailable, also for an error reply, with the text of Redis.
func (c *Conn) Do(x *Call) error {
	_, err := c.DoInteger(x)
	return err
}

// DoInteger is Do for a call with an integer Result. It does not allocate.
func (c *Conn) DoInteger(x *Call) (int64, error) {
	defer x.Free()
	if !c.Send(x, wakes{}) {
		return 0, ErrUnavailable
	}
	<-x.done
	return x.Result()
}

// Detach sends a call that no caller waits for. A call that cannot be sent is dropped.
func (c *Conn) Detach(x *Call) {
	if !c.Send(x, frees{}) {
		x.Free()
	}
}

// Send queues a call, which is completed within Config.Timeout and replyGrace. It returns false if Redis is
// away or too many calls wait: then the call stays the caller's and is not completed.
func (c *Conn) Send(x *Call, completion Completion) bool {
	if !c.up.Load() {
		return false
	}
	x.completion = completion
	if c.loop != nil {
		return c.loop.add(x)
	}
	if c.pace.late(len(c.queue), c.cfg.Timeout) {
		c.noteOverload()
		return false
	}
	if x.queued.IsZero() {
		x.queued = time.Now()
	}
	select {
	case c.queue <- x:
		c.opts.Waiting.Set(int64(len(c.queue)))
		return true
	default: // the queue is full
		c.noteOverload()
		return false
	}
}

// noteOverload counts and logs calls that are refused because too many wait.
func (c *Conn) noteOverload() {
	c.opts.Figures.Overloads.Inc()
	if n := c.overload.Due(time.Now()); n > 0 {
		slog.Warn("calls to Redis are refused: more wait than it answers within -redis-timeout",
			"redis", c.cfg.Address, "refused", n)
	}
}

// serve answers calls until the connection fails or ctx ends.
func (c *Conn) serve(ctx context.Context, l *Link) error {
	poller, err := rawio.NewPoller()
	if err != nil {
		return err
	}
	defer poller.Close()
	b := newBatch(c.opts.Shared)
	look := time.NewTicker(idleCheck)
	defer look.Stop()
	for {
		if len(c.held) > 0 && ctx.Err() == nil {
			c.collect(b, nil)
			if err := c.answer(ctx, l, b); err != nil {
				return err
			}
			continue
		}
		select {
		case <-look.C:
			if l.closedByPeer() { // else the next call would fail, perhaps much later
				c.up.Store(false)
				return io.EOF
			}
			continue
		case x := <-c.queue:
			// A yield lets every runnable goroutine queue its call first. The poll before it wakes goroutines with a
			// new request, so that they can join. Both make batches longer and calls cheaper: scripts/bench/TUNING.md
			// has the figures.
			if err := poller.Poll(); err != nil {
				x.complete(ErrUnavailable)
				return err
			}
			runtime.Gosched()
			c.collect(b, x)
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := c.answer(ctx, l, b); err != nil {
			return err
		}
	}
}

// answer sends a batch and returns its calls to their callers, except those that must be sent again.
func (c *Conn) answer(ctx context.Context, l *Link, b *batch) error {
	c.opts.Waiting.Set(int64(len(c.queue)))
	if len(b.calls) == 0 {
		return nil
	}
	if err := c.exchange(l, b); err != nil {
		c.up.Store(false)
		b.complete(ErrUnavailable)
		c.refuseWaiting()
		return err
	}
	held, to := c.redirected(b)
	c.complain(b)
	b.complete(nil)
	if len(held) == 0 {
		c.pause = 0
		return nil
	}
	return c.hold(ctx, held, to)
}

// collect takes the calls that go out again, x, and waiting calls, at most batchMax. It refuses a call that
// has waited for its whole timeout.
func (c *Conn) collect(b *batch, x *Call) {
	now := time.Now()
	for len(b.calls) < batchMax {
		switch {
		case x != nil:
		case len(c.held) > 0:
			x = c.held[0]
			c.held = c.held[1:]
		default:
			select {
			case x = <-c.queue:
			default:
				return
			}
		}
		if !c.refused(x, now) {
			b.add(x)
		}
		x = nil
	}
}

// exchange sends the batch and reads its replies.
func (c *Conn) exchange(l *Link, b *batch) error {
	sent := time.Now()
	deadline := replyDeadline(b.oldest, sent, c.cfg.Timeout)
	c.noteSent(b, sent)
	if err := l.roundTrip(b, deadline); err != nil {
		return err
	}
	c.noteReplies(b, sent, time.Now())
	again := c.again(b)
	if again == nil {
		return nil
	}
	return l.roundTrip(again, deadline)
}

// again is batch.again, with a line in the log.
func (c *Conn) again(b *batch) *batch {
	again := b.again(c.opts.Shared, c.opts.Scripts)
	if again == nil {
		return nil
	}
	if n := c.lostScripts.Due(time.Now()); n > 0 {
		slog.Warn("Redis has lost the scripts; loading them again",
			"redis", c.cfg.Address, "calls", len(again.calls)-1, "times", n)
	}
	return again
}

// complain logs error replies, at most one line in logpace.Interval: thousands of calls may get the same.
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

// refuseWaiting refuses all calls that are not on their way.
func (c *Conn) refuseWaiting() {
	for _, x := range c.held {
		x.complete(ErrUnavailable)
	}
	c.held = nil
	for {
		select {
		case x := <-c.queue:
			x.complete(ErrUnavailable)
		default:
			c.opts.Waiting.Set(0)
			return
		}
	}
}

// noteSent counts a batch being sent.
func (c *Conn) noteSent(b *batch, sent time.Time) {
	c.opts.Figures.BatchCalls.Observe(len(b.calls))
	c.opts.Figures.QueueWait.Observe(sent.Sub(b.oldest))
}

// noteReplies counts the duration of a batch, and notes it for the pace if the batch was full.
func (c *Conn) noteReplies(b *batch, sent, now time.Time) {
	took := now.Sub(sent)
	c.opts.Figures.RoundTrip.Observe(took)
	if len(b.calls) == batchMax {
		c.pace.note(took)
	}
}
