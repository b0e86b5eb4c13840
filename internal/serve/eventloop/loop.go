// Package eventloop is the HTTP server of the order path. One thread waits for all connections of a worker
// at once (epoll), and reads, parses, answers and writes itself. A request needs no goroutine, no wake-up
// and no timer; scripts/bench/TUNING.md has the gain.
//
// A Loop runs the events of its sockets. A Server accepts and serves clients on it. It can also watch a
// connection to Redis, so that an answer needs no other thread. A Handler answers a request at once, later,
// or leaves it to another server (Exchange). It must not wait: all clients would wait with it. The package
// knows nothing of a sale.
package eventloop

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	eventsMax = 512                  // events taken from the kernel in one turn
	spin      = 2 * time.Millisecond // see wait
	wakeMax   = time.Minute          // the longest wait, so that no rounding matters
)

// Events are the events at a socket.
type Events uint32

// Readable reports whether there may be more to read than before: bytes, the end, or an error.
func (e Events) Readable() bool { return e&^unix.EPOLLOUT != 0 }

// Writable reports whether there may be more room to write than before, for a Source with WatchWrites.
func (e Events) Writable() bool { return e&(unix.EPOLLOUT|unix.EPOLLERR|unix.EPOLLHUP) != 0 }

// Ended reports whether no bytes will follow those that can be read now.
func (e Events) Ended() bool { return e&(unix.EPOLLRDHUP|unix.EPOLLERR|unix.EPOLLHUP) != 0 }

// Source is a socket that a Loop watches.
type Source interface {
	// Ready runs once for each event (EPOLLET): bytes that it leaves unread cause no second call.
	Ready(e Events)
}

// EndTurn runs in every turn of a Loop. It returns the latest time at which it must run again; the zero Time
// leaves that to the next event.
type EndTurn = func(now time.Time) (again time.Time)

// Loop runs the events of its sockets on one thread. Only Run and Post may be called from other threads.
type Loop struct {
	epoll   int
	wake    int // an eventfd, for Post
	watched []watched
	before  []EndTurn
	at      []EndTurn
	stops   []func()
	now     time.Time // the beginning of this turn
	yields  bool      // other goroutines run before the next turn
	over    bool

	mu     sync.Mutex
	posted []func() // functions that wait for the loop's thread
	closed bool     // nothing can be posted any more
	events [eventsMax]unix.EpollEvent
}

// watched is a file descriptor's entry in the loop.
type watched struct {
	source     Source
	generation int32 // events of an earlier source with the same descriptor have another one
}

// New makes a Loop. Run runs it and frees it.
func New() (*Loop, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("cannot make an epoll instance: %w", err)
	}
	wake, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		unix.Close(epoll)
		return nil, fmt.Errorf("cannot make an eventfd: %w", err)
	}
	l := &Loop{epoll: epoll, wake: wake, now: time.Now()}
	if err := l.Watch(wake, waker{l}); err != nil {
		unix.Close(epoll)
		unix.Close(wake)
		return nil, err
	}
	return l, nil
}

// Run runs the loop until ctx ends, then the functions of AtStop. The owner closes what the loop watches.
func (l *Loop) Run(ctx context.Context) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer l.close()
	defer context.AfterFunc(ctx, func() { l.Post(func() { l.over = true }) })()
	again := time.Time{}
	for !l.over {
		n, err := l.wait(again)
		if err != nil {
			return fmt.Errorf("cannot wait for connections: %w", err)
		}
		l.now = time.Now()
		for i := range l.events[:n] {
			l.dispatch(&l.events[i])
		}
		again = l.endTurn(l.before, time.Time{})
		again = l.endTurn(l.at, again)
	}
	return nil
}

func (l *Loop) endTurn(ends []EndTurn, again time.Time) time.Time {
	for _, end := range ends {
		if t := end(l.now); !t.IsZero() && (again.IsZero() || t.Before(again)) {
			again = t
		}
	}
	return again
}

func (l *Loop) dispatch(e *unix.EpollEvent) {
	w := &l.watched[e.Fd]
	if w.source == nil || w.generation != e.Pad {
		return // it was forgotten in this turn
	}
	w.source.Ready(Events(e.Events))
}

// wait waits for events, at most until again. A short wait keeps the processor of the Go scheduler: under
// load the next event is near, and giving the processor up wakes other threads. A longer wait gives it up.
func (l *Loop) wait(again time.Time) (n int, err error) {
	limit := wakeMax
	if l.yields {
		l.yields = false
		runtime.Gosched()
	}
	if !again.IsZero() {
		limit = max(min(time.Until(again), wakeMax), 0)
	}
	n, err = epollWait(l.epoll, l.events[:], min(limit, spin), false)
	if n == 0 && err == nil && limit > spin {
		n, err = epollWait(l.epoll, l.events[:], limit-spin, true)
	}
	if errors.Is(err, unix.EINTR) { // the Go scheduler wants the thread
		return 0, nil
	}
	return n, err
}

// Now is the time at which this turn began.
func (l *Loop) Now() time.Time { return l.now }

// Yield lets the ready goroutines run before the next turn. A loop that always has work would keep them
// waiting.
func (l *Loop) Yield() { l.yields = true }

// AtEnd makes f run at the end of each turn, for example to send all that the turn has collected. It must be
// called before Run, or on the loop's thread.
func (l *Loop) AtEnd(f EndTurn) { l.at = append(l.at, f) }

// BeforeEnd makes f run before the functions of AtEnd: its work belongs to the same turn.
func (l *Loop) BeforeEnd(f EndTurn) { l.before = append(l.before, f) }

// AtStop makes f run on the loop's thread after the loop has ended, to close things. It must be called
// before Run.
func (l *Loop) AtStop(f func()) { l.stops = append(l.stops, f) }

// Post makes f run on the loop's thread, soon. It returns false if the loop has ended and f will not run. It
// is safe for concurrent use.
func (l *Loop) Post(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.posted = append(l.posted, f)
	if len(l.posted) == 1 {
		// It can fail only if the count is full; then the loop is awake.
		_, _ = unix.Write(l.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
	return true
}

// waker is the Source of Post.
type waker struct{ l *Loop }

func (w waker) Ready(Events) {
	var count [8]byte
	_, _ = unix.Read(w.l.wake, count[:]) // back to 0
	w.l.runPosted()
}

func (l *Loop) runPosted() {
	l.mu.Lock()
	posted := l.posted
	l.posted = nil
	l.mu.Unlock()
	for _, f := range posted {
		f()
	}
}

// close runs the functions posted so far, so that no caller waits for ever, and frees the loop.
func (l *Loop) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.runPosted()
	for _, f := range l.stops {
		f()
	}
	unix.Close(l.epoll)
	unix.Close(l.wake)
}

// WatchFunc is Watch with a function as the Source.
func (l *Loop) WatchFunc(fd int, ready func(readable, writable, ended bool)) error {
	return l.Watch(fd, readyFunc(ready))
}

type readyFunc func(readable, writable, ended bool)

func (f readyFunc) Ready(e Events) { f(e.Readable(), e.Writable(), e.Ended()) }

const reads = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET

// Watch makes a source run when its non-blocking descriptor has something to read, until Forget.
func (l *Loop) Watch(fd int, s Source) error {
	for fd >= len(l.watched) {
		l.watched = append(l.watched, watched{})
	}
	w := &l.watched[fd]
	w.generation = (w.generation + 1) % math.MaxInt32
	w.source = s
	if err := l.control(unix.EPOLL_CTL_ADD, fd, reads); err != nil {
		w.source = nil
		return err
	}
	return nil
}

// WatchWrites makes the source run also when there is room to write.
func (l *Loop) WatchWrites(fd int) error {
	return l.control(unix.EPOLL_CTL_MOD, fd, reads|unix.EPOLLOUT)
}

// Forget ends Watch. The descriptor stays open. If its owner closes it next (closing), the kernel forgets it
// without another call.
func (l *Loop) Forget(fd int, closing bool) {
	l.watched[fd].source = nil
	if !closing {
		_ = l.control(unix.EPOLL_CTL_DEL, fd, 0) // it fails only if the descriptor is not watched
	}
}

func (l *Loop) control(operation, fd int, events uint32) error {
	event := unix.EpollEvent{Fd: int32(fd), Pad: l.watched[fd].generation, Events: events}
	if err := epollControl(l.epoll, operation, fd, &event); err != nil {
		return fmt.Errorf("cannot watch a socket: %w", err)
	}
	return nil
}
