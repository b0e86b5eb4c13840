package eventloop

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"flashsale/internal/serve/listener"
	"flashsale/internal/testkit"
)

// newLoop returns a Loop that the test runs.
func newLoop(t *testing.T) (l *Loop, run func(ctx context.Context)) {
	t.Helper()
	l, err := New()
	testkit.Must(t, err)
	return l, func(ctx context.Context) {
		t.Helper()
		if err := l.Run(ctx); err != nil {
			t.Error(err)
		}
	}
}

// counter returns an eventfd. It is readable while its count is not 0.
func counter(t *testing.T, count uint) int {
	t.Helper()
	fd, err := unix.Eventfd(count, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	testkit.Must(t, err)
	return fd
}

func raise(fd int) { unix.Write(fd, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }

func TestPost(t *testing.T) {
	l, run := newLoop(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	order := []string{}
	l.AtStop(func() { order = append(order, "stop") })
	l.Post(func() {
		order = append(order, "first")
		l.Post(func() {
			order = append(order, "third")
			stop()
			testkit.Until(t, "end", func() bool { // it runs though the loop is over
				l.mu.Lock()
				defer l.mu.Unlock()
				return len(l.posted) > 0
			})
			l.Post(func() { order = append(order, "last") })
		})
	})
	l.Post(func() { order = append(order, "second") })
	run(ctx)
	if want := []string{"first", "second", "third", "last", "stop"}; !slices.Equal(order, want) {
		t.Errorf("ran %q, want %q", order, want)
	}
	if l.Post(func() { t.Error("runs after the end") }) {
		t.Error("a loop that has ended takes what is posted")
	}
}

// What is to run again runs at the earliest time that it returned.
func TestEndTurns(t *testing.T) {
	l, run := newLoop(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	order, turns := "", 0
	l.AtEnd(func(now time.Time) time.Time {
		order += "e"
		if turns++; turns == 3 {
			stop()
		}
		if now != l.Now() {
			t.Error("the time is another one than Now")
		}
		return now.Add(time.Hour)
	})
	l.AtEnd(func(time.Time) time.Time { return time.Time{} })
	l.BeforeEnd(func(time.Time) time.Time {
		order += "b"
		return l.Now().Add(10 * time.Millisecond)
	})
	l.Post(func() {})
	run(ctx)
	if order[:6] != "bebebe" {
		t.Errorf("ran in order %q", order)
	}
}

// calls is a Source that counts.
type calls struct {
	n     int
	ready func()
}

func (c *calls) Ready(Events) {
	c.n++
	if c.ready != nil {
		c.ready()
	}
}

// An event of a descriptor that was closed in the same turn is not the next one's with the same number.
func TestDescriptorUsedAgain(t *testing.T) {
	l, run := newLoop(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	fds := [2]int{counter(t, 1), counter(t, 1)}
	next := &calls{}
	var used int
	take := func(mine, other int) *calls { // the first one replaces the other
		return &calls{ready: func() {
			if used > 0 {
				t.Error("a source that was forgotten runs")
				return
			}
			used = fds[other]
			l.Forget(used, true)
			unix.Close(used)
			if fd := counter(t, 0); fd != used {
				t.Errorf("descriptor %d is not used again, but %d", used, fd)
			}
			if err := l.Watch(used, next); err != nil {
				t.Error(err)
			}
		}}
	}
	for i := range fds {
		testkit.Must(t, l.Watch(fds[i], take(i, 1-i)))
	}
	turns := 0
	l.AtEnd(func(now time.Time) time.Time {
		switch turns++; {
		case used == 0:
		case next.n == 1:
			stop()
		case turns < 3:
			if next.n != 0 {
				t.Error("the next source has got an event of the one before")
			}
			return now
		default:
			raise(used)
		}
		return time.Time{}
	})
	run(ctx)
	if next.n != 1 {
		t.Errorf("the next source ran %d times, want 1", next.n)
	}
}

// A loop without events leaves the processor to other goroutines.
func TestIdleLoopGivesUpTheProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	l, run := newLoop(t)
	fd := counter(t, 0)
	defer unix.Close(fd)
	testkit.Must(t, l.Watch(fd, &calls{}))
	woken := 0
	for range 20 { // the scheduler may interrupt some of the waits
		done := make(chan struct{})
		go func() {
			raise(fd)
			close(done)
		}()
		// Without the processor the goroutine cannot raise it, and only the scheduler ends the wait.
		n, err := l.wait(time.Time{})
		testkit.Must(t, err)
		if woken += n; n == 0 {
			<-done
			if n, err = l.wait(time.Time{}); n != 1 || err != nil {
				t.Fatalf("%d events, %v", n, err)
			}
		}
		<-done
	}
	if woken == 0 {
		t.Error("no other goroutine ran while the loop waited")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	run(ctx)
}

// A wait ends at its time, and not before.
func TestWaitEnds(t *testing.T) {
	l, run := newLoop(t)
	for _, limit := range []time.Duration{-time.Second, 0, 300 * time.Microsecond, 5 * time.Millisecond} {
		for range 100 { // the scheduler may interrupt some
			again := time.Now().Add(limit)
			n, err := l.wait(again)
			if n != 0 || err != nil {
				t.Fatalf("%d events, %v", n, err)
			}
			if !time.Now().Before(again) {
				again = time.Time{}
			}
			if again.IsZero() {
				break
			}
			if limit <= 0 {
				t.Errorf("a limit of %v is not over", limit)
			}
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	run(ctx)
}

// The end of the loop closes all that is open, whatever it is doing.
func TestEndFreesDescriptors(t *testing.T) {
	open(t, listener.Config{}).end() // what the Go runtime keeps for itself is open now
	before := descriptors(t)
	s := open(t, listener.Config{})
	late := s.lend()
	clients := []*client{s.dialNarrow()}
	for _, text := range []string{
		get("/now?pad=60000"), "", "", get("/now"), "GET", get("/held"), "bad\r\n", get("/now") + get("/held"),
	} {
		c := clients[len(clients)-1]
		c.send(text)
		clients = append(clients, s.dial())
	}
	clients[len(clients)-1].send(get("/away"))
	l := <-late
	testkit.Until(t, "each state", func() bool { return len(s.states()) == 6 })
	waits := len(s.held)
	s.onLoop(func() {
		again, err := net.Dial("tcp", s.address) // waits to be accepted
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { again.Close() })
		go s.Return(l.Conn, l.slot, nil)
		go s.end()
		testkit.Until(t, "return and end", func() bool {
			s.loop.mu.Lock()
			defer s.loop.mu.Unlock()
			return len(s.loop.posted) == 2
		})
	})
	s.end()
	for range waits {
		x := <-s.held
		x.Finish() // too late, does nothing
	}
	for _, c := range clients {
		c.Close()
	}
	if n := s.limiter.Count(); n != 0 {
		t.Errorf("%d slots are still taken", n)
	}
	want := before + 1 // the client that waits
	testkit.Until(t, fmt.Sprintf("%d descriptors", want), func() bool { return descriptors(t) <= want })
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	testkit.Must(t, err)
	return len(all)
}

func TestServeAfterTheEnd(t *testing.T) {
	s := open(t, listener.Config{})
	s.end()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	if err := s.Serve(l); err == nil {
		t.Error("a loop that has ended serves")
	}
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		c.Close()
		t.Error("the port is still open")
	}
	s.StopAccepting()
	s.CloseIdle()
}
