package pipeline

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mediocregopher/radix/v4/resp"

	"flashsale/internal/serve/rawio"
)

const (
	receiveMin = 4 << 10         // room for a read of replies, in bytes
	keepMax    = 4 * bufferBytes // most bytes of a buffer kept for reuse
)

var errLoopEnded = errors.New("the event loop has ended")

// Loop is an event loop such as internal/serve/eventloop: one thread that waits for many sockets. It runs
// all given functions on that thread.
type Loop interface {
	// Now is the time at which the turn under way began.
	Now() time.Time
	// AtEnd makes f run at the end of each turn, and at the latest at the time that f returned.
	AtEnd(f func(now time.Time) (again time.Time))
	// WatchFunc makes ready run when a descriptor has something to read, WatchWrites also when it has room to
	// write, until Forget. ended means that no bytes follow.
	WatchFunc(fd int, ready func(readable, writable, ended bool)) error
	WatchWrites(fd int) error
	Forget(fd int, closing bool)
	// Post makes f run soon. It is safe for concurrent use; false means that the loop has ended.
	Post(f func()) bool
}

// loopEngine runs a Conn on an event loop. The calls that wait at the end of a turn are sent as one
// pipeline, unless another pipeline is under way. Run only dials. Only use may be called from other threads.
type loopEngine struct {
	conn *Conn
	loop Loop

	fd      int // the connection to Redis, -1 for none
	waiting []*Call
	oldest  time.Time // no waiting call was queued earlier
	begun   bool      // flight is under way
	flight  *batch    // sent, or being sent
	until   time.Time // deadline of its replies
	sent    time.Time
	due     int // number of its replies

	asking bool         // calls are asked aside by Run; no other is sent meanwhile
	asks   chan []*Call // those calls
	resume time.Time    // no call is sent before

	out    []byte // requests not sent yet
	in     []byte // replies so far
	text   []byte // memory for out
	guard  *replyGuard
	source bytes.Reader
	reader *bufio.Reader
	opts   *resp.Opts

	lost chan error // why the connection was dropped
}

func newLoopEngine(c *Conn, loop Loop) *loopEngine {
	e := &loopEngine{conn: c, loop: loop, fd: -1, opts: resp.NewOpts(), lost: make(chan error, 1),
		asks: make(chan []*Call, 1)}
	e.reader = bufio.NewReaderSize(&e.source, bufferBytes)
	loop.AtEnd(e.endTurn)
	return e
}

// use gives a link's connection to the loop and waits until it is lost or ctx ends.
func (e *loopEngine) use(ctx context.Context, l *Link) error {
	fd, err := l.detach()
	if err != nil {
		return err
	}
	if !e.loop.Post(func() { e.begin(fd) }) {
		rawio.Close(fd)
		return errLoopEnded
	}
	for {
		select {
		case err := <-e.lost:
			return err
		case calls := <-e.asks:
			e.conn.ask(calls)
			e.loop.Post(func() { e.asked(calls) })
			continue
		case <-ctx.Done():
		}
		if !e.loop.Post(func() { e.drop(ctx.Err()) }) {
			return ctx.Err()
		}
		return <-e.lost
	}
}

func (e *loopEngine) begin(fd int) {
	e.fd, e.guard, e.in = fd, newReplyGuard(e.conn.opts.FieldsMax), emptied(e.in)
	e.resume = time.Time{}
	e.flight = newBatch(e.conn.opts.Shared) // the last one may have failed amid its replies
	e.conn.up.Store(true)
	if err := e.loop.WatchFunc(fd, e.ready); err != nil {
		e.drop(err)
	}
}

// drop closes the connection. All calls fail.
func (e *loopEngine) drop(err error) {
	if e.fd < 0 {
		return
	}
	e.conn.up.Store(false)
	e.disconnect()
	if e.begun {
		e.begun = false
		e.flight.complete(ErrUnavailable)
	}
	e.takeBack()
	e.refuseWaiting()
	e.lost <- err
}

func (e *loopEngine) disconnect() {
	e.loop.Forget(e.fd, true)
	rawio.Close(e.fd)
	e.fd, e.out = -1, nil
}

func (e *loopEngine) refuseWaiting() {
	waiting := e.waiting
	e.waiting = nil
	for _, x := range waiting {
		x.complete(ErrUnavailable)
	}
}

// add is Conn.Send.
func (e *loopEngine) add(x *Call) bool {
	if len(e.waiting) >= QueueMax || e.conn.pace.late(len(e.waiting), e.conn.cfg.Timeout) {
		e.conn.noteOverload()
		return false
	}
	if x.queued.IsZero() {
		x.queued = e.loop.Now()
	}
	if len(e.waiting) == 0 || x.queued.Before(e.oldest) {
		e.oldest = x.queued
	}
	e.waiting = append(e.waiting, x)
	return true
}

// endTurn sends the waiting calls, and ends overdue ones.
func (e *loopEngine) endTurn(now time.Time) (again time.Time) {
	if e.begun && !now.Before(e.limit()) {
		e.endOverdue(now)
	}
	if !e.begun && len(e.waiting) > 0 {
		if e.stalled(now) {
			e.refuseExpired(now)
		} else if e.takeWaiting(now); len(e.flight.calls) > 0 {
			e.dispatch(now)
		}
	}
	e.conn.opts.Waiting.Set(int64(len(e.waiting)))
	switch {
	case e.begun:
		return e.limit()
	case len(e.waiting) > 0:
		return e.stallLimit(now)
	}
	return time.Time{}
}

// takeWaiting puts waiting calls into the next flight, at most batchMax. It refuses a call that has waited
// for its whole timeout.
func (e *loopEngine) takeWaiting(now time.Time) {
	n := 0
	for ; n < len(e.waiting) && len(e.flight.calls) < batchMax; n++ {
		if x := e.waiting[n]; !e.conn.refused(x, now) {
			e.flight.add(x)
		}
	}
	rest := copy(e.waiting, e.waiting[n:])
	clear(e.waiting[rest:])
	e.waiting = e.waiting[:rest]
}

// dispatch sends the flight.
func (e *loopEngine) dispatch(now time.Time) {
	e.begun, e.sent = true, now
	e.conn.noteSent(e.flight, now)
	e.until = replyDeadline(e.flight.oldest, now, e.conn.cfg.Timeout)
	e.due = e.flight.replies()
	e.guard.replies = 0
	e.text = e.flight.appendTo(emptied(e.text))
	e.out = e.text
	e.send()
}

func (e *loopEngine) send() {
	n, err := rawio.Send(e.fd, e.out)
	if e.out = e.out[n:]; err == nil && len(e.out) > 0 {
		err = e.loop.WatchWrites(e.fd)
	}
	if err != nil {
		e.drop(fmt.Errorf("cannot send to Redis: %w", err))
	}
}

func (e *loopEngine) ready(readable, writable, ended bool) {
	if writable && len(e.out) > 0 {
		e.send()
	}
	if readable && e.fd >= 0 {
		if err := e.receive(ended); err != nil {
			e.drop(err)
		}
	}
}

// receive reads the replies that have come, and completes the flight once all have come, even if the
// connection ends behind them.
func (e *loopEngine) receive(ended bool) error {
	over := e.read(ended)
	switch {
	case e.guard.fault != nil:
		return e.guard.fault
	case !e.begun && len(e.in) > 0:
		return fmt.Errorf("%w: %d bytes that were not asked for", errBadReply, len(e.in))
	case e.begun && e.guard.replies >= e.due:
		if err := e.complete(); err != nil {
			return err
		}
	}
	return over
}

// read reads all bytes that have come, up to the end of the connection.
func (e *loopEngine) read(ended bool) error {
	for more := true; more; {
		e.in = slices.Grow(e.in, receiveMin)
		n, err := rawio.Receive(e.fd, e.in[len(e.in):cap(e.in)])
		if errors.Is(err, rawio.ErrAgain) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot read a reply of Redis: %w", err)
		}
		if err := e.guard.check(e.in[len(e.in) : len(e.in)+n]); err != nil {
			return err
		}
		e.in = e.in[:len(e.in)+n]
		more = ended || len(e.in) == cap(e.in) // a read that leaves room free has emptied the socket
	}
	return nil
}

// complete returns the calls of the flight to their callers. Calls that must be repeated go out first, as a
// flight of their own.
func (e *loopEngine) complete() error {
	if len(e.out) > 0 {
		return fmt.Errorf("%w: a reply to what was not sent", errBadReply)
	}
	e.source.Reset(e.in)
	e.reader.Reset(&e.source)
	err := e.flight.UnmarshalRESP(e.reader, e.opts)
	if n := e.source.Len(); err == nil && n > 0 {
		err = fmt.Errorf("%w: %d bytes behind the last one that was due", errBadReply, n)
	}
	e.source.Reset(nil)
	e.in = emptied(e.in)
	if err != nil {
		return err
	}
	done := e.flight
	e.conn.noteReplies(done, e.sent, e.loop.Now())
	e.begun = false
	held, to := e.conn.redirected(done)
	if again := e.conn.again(done); again != nil {
		done.calls = slices.DeleteFunc(done.calls, (*Call).lostScript)
		e.flight = again
		e.dispatch(e.sent)
	}
	e.conn.complain(done)
	done.complete(nil)
	if len(held) > 0 {
		e.hold(held, to)
	} else {
		e.conn.pause = 0
	}
	return nil
}

// emptied empties a buffer for reuse and drops a large one.
func emptied(b []byte) []byte {
	if cap(b) > keepMax {
		return nil
	}
	return b[:0]
}
