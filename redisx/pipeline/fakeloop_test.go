package pipeline

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/serve/rawio"
	"flashsale/internal/testkit"
)

const ms = time.Millisecond

// fakeLoop is a Loop that the test itself runs: time passes, turns end and events come as it says.
type fakeLoop struct {
	now     time.Time
	end     func(now time.Time) (again time.Time)
	watched func(readable, writable, ended bool) // nil where nothing is
	refuse  error                                // of WatchFunc
	writes  bool                                 // WatchWrites was called
	over    bool                                 // the loop has ended
	forgets int                                  // calls of Forget
}

func newFakeLoop() *fakeLoop { return &fakeLoop{now: time.Now()} }

func (l *fakeLoop) Now() time.Time                    { return l.now }
func (l *fakeLoop) AtEnd(f func(time.Time) time.Time) { l.end = f }
func (l *fakeLoop) Forget(int, bool)                  { l.watched, l.forgets = nil, l.forgets+1 }
func (l *fakeLoop) WatchWrites(int) error             { l.writes = true; return nil }
func (l *fakeLoop) WatchFunc(_ int, f func(_, _, _ bool)) error {
	if l.refuse == nil {
		l.watched = f
	}
	return l.refuse
}

func (l *fakeLoop) Post(f func()) bool {
	if !l.over {
		f()
	}
	return !l.over
}

// onFake is a Conn on a fakeLoop. The test is its Redis.
type onFake struct {
	*fakeLoop
	e    *loopEngine
	tb   testing.TB
	peer int // the other end of the connection
}

func newOnFake(tb testing.TB, opts Options) *onFake {
	tb.Helper()
	testkit.KeepLog(tb)
	loop := newFakeLoop()
	opts.Loop = loop
	f := &onFake{fakeLoop: loop, e: New(defaults, opts).loop, tb: tb, peer: -1}
	f.connect()
	tb.Cleanup(func() {
		f.e.drop(errors.New("the test has ended"))
		f.hangUp()
	})
	return f
}

// connect gives the engine a connection; it must have none.
func (f *onFake) connect() {
	f.tb.Helper()
	f.hangUp()
	ends, err := syscall.Socketpair(syscall.AF_UNIX,
		syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		f.tb.Fatal(err)
	}
	f.peer = ends[1]
	f.e.begin(ends[0])
}

// hangUp ends the connection from the side of Redis.
func (f *onFake) hangUp() {
	if f.peer >= 0 {
		rawio.Close(f.peer)
	}
	f.peer = -1
}

// sentCall is a call that was sent, and what it got.
type sentCall struct {
	completed int
	integer   int64
	err       error
	then      func() // runs within the completion, unless nil
}

func (s *sentCall) Complete(x *Call) {
	s.completed++
	s.integer, s.err = x.Result()
	x.Free()
	if s.then != nil {
		s.then()
	}
}

// answered reports whether the call got this integer, and once.
func (s *sentCall) answered(want int64) bool {
	return s.completed == 1 && s.err == nil && s.integer == want
}

// refused reports whether the call failed, and once.
func (s *sentCall) refused() bool { return s.completed == 1 && errors.Is(s.err, ErrUnavailable) }

// send sends a call that has waited for some time already.
func (f *onFake) send(x *Call, waited time.Duration) *sentCall {
	f.tb.Helper()
	s := &sentCall{}
	if waited > 0 {
		x.Since(f.now.Add(-waited))
	}
	if !f.e.conn.Send(x, s) {
		f.tb.Error("a call is refused")
	}
	return s
}

// exists makes a call with an integer as its reply.
func exists() *Call { return NewCall().Integer("EXISTS", []byte("k")) }

// turn lets time pass and ends a turn. It returns the time until the engine wants another one, -1 for never.
func (f *onFake) turn(passed time.Duration) (again time.Duration) {
	f.now = f.now.Add(passed)
	t := f.end(f.now)
	if t.IsZero() {
		return -1
	}
	return t.Sub(f.now)
}

// asked returns what has been sent to Redis since it was last called.
func (f *onFake) asked() string {
	f.tb.Helper()
	var all []byte
	for {
		b := make([]byte, 64<<10)
		n, err := rawio.Receive(f.peer, b)
		if errors.Is(err, rawio.ErrAgain) {
			return string(all)
		}
		if err != nil {
			f.tb.Fatal(err)
		}
		all = append(all, b[:n]...)
	}
}

// reply puts text into the socket; the engine learns of it by event.
func (f *onFake) reply(text string) {
	f.tb.Helper()
	if n, err := rawio.Send(f.peer, []byte(text)); err != nil || n < len(text) {
		f.tb.Fatalf("%d of %d bytes are sent, %v", n, len(text), err)
	}
}

// event tells the engine that its socket is readable, and at its end.
func (f *onFake) event(ended bool) {
	if f.watched != nil {
		f.watched(true, false, ended)
	}
}

// answer is reply, and the event that it makes.
func (f *onFake) answer(text string) {
	f.tb.Helper()
	f.reply(text)
	f.event(false)
}

// whyLost returns why the connection was dropped; it must have been, once.
func (f *onFake) whyLost() error {
	f.tb.Helper()
	if len(f.e.lost) != 1 {
		f.tb.Fatalf("%d reasons for a lost connection, want 1", len(f.e.lost))
	}
	return <-f.e.lost
}
