package eventloop

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"flashsale/internal/serve/listener"
	"flashsale/internal/testkit"
)

// wantRefused reads what a connection over a limit gets.
func (c *client) wantRefused() {
	c.s.Helper()
	if text, err := io.ReadAll(c.replies); string(text) != overLimit || err != nil {
		c.s.Errorf("over the limit: %q, %v", text, err)
	}
}

func TestLimits(t *testing.T) {
	for name, cfg := range map[string]listener.Config{
		"full": {ConnsMax: 2}, "crowded": {ConnsPerAddressMax: 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, cfg)
			first, second := s.dial(), s.dial()
			s.await(2, listener.Opening)
			for range 3 {
				s.dial().wantRefused()
			}
			second.send(get("/away")) // it keeps its slot with the other server
			second.want(ok("GET /away "))
			s.dial().wantRefused()
			first.Close()
			testkit.Until(t, "slot", func() bool { return s.limiter.Count() == 1 })
			third := s.dial()
			third.send(get("/now"))
			third.want(ok("GET /now "))
			s.dial().wantRefused()
		})
	}
}

// No more than a share of what waits is accepted at once: requests come between.
func TestAcceptsInTurns(t *testing.T) {
	const clients = 5*acceptsMax/2 + 1
	s := open(t, listener.Config{})
	all := make([]*client, clients)
	s.onLoop(func() {
		for i := range all {
			all[i] = s.dial()
			all[i].send(get("/now"))
		}
		for share := 1; share <= 2; share++ {
			s.Ready(0)
			if n := s.limiter.Count(); n != share*acceptsMax || !s.accepting {
				t.Errorf("%d connections after %d shares, accepting: %v", n, share, s.accepting)
			}
		}
	})
	for _, c := range all {
		c.want(ok("GET /now "))
	}
	s.await(clients, listener.Idle)
}

// A process out of descriptors accepts again when there are some.
func TestAcceptOutlastsExhaustion(t *testing.T) {
	s := open(t, listener.Config{})
	log := testkit.CaptureLog(t)
	var files unix.Rlimit
	testkit.Must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &files))
	none := files
	none.Cur = 0
	restore := func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
			t.Error(err)
		}
	}
	defer restore()
	var first, second *client
	s.onLoop(func() { // it accepts when the limit holds
		first, second = s.dial(), s.dial()
		first.send(get("/1"))
		second.send(get("/2"))
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
			t.Error(err)
		}
	})
	for range 3 { // it tries again and again
		var retry time.Time
		testkit.Until(t, "failed accept", func() bool {
			s.onLoop(func() {
				if retry.IsZero() {
					retry = s.retry
				}
			})
			return !retry.IsZero()
		})
		testkit.Until(t, "further failed accept", func() (another bool) {
			s.onLoop(func() { another = !s.retry.IsZero() && s.retry != retry })
			return another
		})
	}
	restore()
	first.want(ok("GET /1 "))
	second.want(ok("GET /2 "))
	s.onLoop(func() {
		if !s.retry.IsZero() {
			t.Error("it tries again though all are accepted")
		}
	})
	if n := log.Count("cannot accept more connections"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, log)
	}
}

// What waits to be accepted is served, and what comes later goes elsewhere.
func TestStopAccepting(t *testing.T) {
	const clients = 3 * acceptsMax
	s := open(t, listener.Config{})
	var shared int // as another process has it
	all := make([]*client, clients)
	s.onLoop(func() {
		var err error
		if shared, err = unix.Dup(s.socket); err != nil {
			t.Error(err)
		}
		for i := range all {
			all[i] = s.dial()
		}
		s.StopAccepting()
		s.StopAccepting() // twice does no harm
	})
	defer unix.Close(shared)
	s.await(clients, listener.Opening)
	s.onLoop(func() {
		if s.socket != -1 || s.watches() != 1+clients {
			t.Errorf("socket %d; %d descriptors are watched, want %d", s.socket, s.watches(), 1+clients)
		}
	})
	for _, c := range all {
		c.send(get("/now"))
		c.want(ok("GET /now "))
	}
	later := s.dial() // waits for another process
	later.send(get("/now"))
	s.onLoop(func() {})
	unix.Close(shared)
	if got, err := later.read("GET"); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a connection after the end of accepting: %+v, %v", got, err)
	}
	if c, err := net.Dial("tcp", s.address); err == nil {
		c.Close()
		t.Error("the port is still open")
	}
}

// watches returns the number of descriptors that the kernel watches for the loop.
func (s *stand) watches() int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", s.loop.epoll))
	if err != nil {
		s.Error(err)
	}
	return strings.Count(string(text), "tfd:")
}

// Only connections without a request are closed; the others end behind their reply.
func TestCloseIdle(t *testing.T) {
	s := open(t, listener.Config{})
	away := make(chan func())
	s.onLoop(func() {
		s.away = func(socket net.Conn, slot listener.Slot, unread []byte) {
			go func() { away <- func() { s.serveAway(socket, slot, unread) } }()
		}
	})
	writing := s.dialNarrow()
	writing.send(get("/now?pad=60000"))
	s.await(1, listener.Writing)
	idle, opening, lingering := s.dial(), s.dial(), s.dial()
	reading, serving, lent := s.dial(), s.dial(), s.dial()
	idle.send(get("/now"))
	idle.want(ok("GET /now "))
	lingering.send("bad\r\n")
	lingering.want(refused(3))
	reading.send("GET /now HTT")
	serving.send(get("/held"))
	lent.send(get("/away"))
	goOn := <-away
	testkit.Until(t, "each state", func() bool { return len(s.states()) == 6 })

	s.CloseIdle()
	for _, c := range []*client{idle, opening, lingering} {
		c.wantEnd()
	}
	s.onLoop(func() {
		if n := s.limiter.Count(); n != 4 {
			t.Errorf("%d connections are left, want 4", n)
		}
	})
	writing.want(padded("/now", 60000))
	writing.wantEnd()
	reading.send("P/1.1\r\nHost: h\r\n\r\n")
	reading.want(ok("GET /now "))
	reading.wantEnd()
	s.finish()
	serving.want(ok("GET /held "))
	serving.wantEnd()
	goOn()
	lent.want(ok("GET /away "))
	lent.wantEnd()
	s.awaitNone()
}

// Any other failure of accept is logged as well, once for all tries.
func TestAcceptLogsOtherErrors(t *testing.T) {
	s := open(t, listener.Config{})
	log := testkit.CaptureLog(t)
	s.onLoop(func() {
		if err := unix.Shutdown(s.socket, unix.SHUT_RDWR); err != nil {
			t.Error(err)
		}
		s.Ready(0)
		s.Ready(0)
	})
	if n := log.Count("cannot accept connections; it is tried again"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, log)
	}
}
