// Package pipeline is the one client of Redis in this house. The sale has one, and every room that keeps
// something in Redis has one of its own, so that a slow room cannot delay an order. It knows commands,
// scripts and replies, and nothing of a sale.
//
// A Conn sends what waits at the same moment as one pipeline: a call costs a share of one round trip.
// Every call is answered within Config.Timeout and replyGrace, with ErrUnavailable where Redis does not
// answer in time: overload.go has the rules. A Link is a connection without that, for one goroutine: for
// calls at the start, and for those that take longer.
//
// It is slow where one caller sends its calls one after another: each of them waits for a round trip then.
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
	idleCheck = time.Second // between two checks whether Redis has closed a connection that is idle
)

// Conn is one connection to Redis and the goroutine that owns it, Run. The owner takes one call, lets
// every goroutine that can run add its own, and sends what waits as one pipeline. Only the owner touches
// the connection. Every batch has a deadline (replyDeadline); when one fails, the connection is dropped and
// everything that waits fails with it. Its other methods are safe for concurrent use.
type Conn struct {
	cfg  Config
	opts Options

	loop  *loopEngine // of a Conn on an event loop, else nil
	queue chan *Call
	up    atomic.Bool // false: calls are refused without queueing
	pace  pace        // the owner notes it

	complaints, overload, lostScripts logpace.Pace
}

// New makes a Conn. Run must run for its calls to be answered.
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
// Errors: ErrUnavailable, also for an error reply, with its words.
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

// Send queues a call, to be completed within Config.Timeout and replyGrace. It reports whether it could:
// where not, because Redis is away or too much waits, the call stays the caller's and is not completed.
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

// noteOverload counts and logs that calls are refused because too many wait.
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
		select {
		case <-look.C:
			if l.closedByPeer() { // else the next call, perhaps much later, would find out and fail
				c.up.Store(false)
				return io.EOF
			}
			continue
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
		c.opts.Waiting.Set(int64(len(c.queue)))
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

// collect gathers what waits, at most batchMax calls. A call that has waited for its whole time is refused.
func (c *Conn) collect(b *batch, x *Call) {
	now := time.Now()
	for {
		if expired(x.queued, now, c.cfg.Timeout) {
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
			c.opts.Waiting.Set(0)
			return
		}
	}
}
