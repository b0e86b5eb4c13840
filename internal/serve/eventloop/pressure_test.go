package eventloop

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"flashsale/internal/serve/framing"
	"flashsale/internal/serve/listener"
	"flashsale/internal/testkit"
)

// narrow makes the socket of the only connection hold little of what it sends, or receives.
func (s *stand) narrow(option, size int) {
	s.Helper()
	s.onLoop(func() {
		if err := unix.SetsockoptInt(s.only().fd, unix.SOL_SOCKET, option, size); err != nil {
			s.Error(err)
		}
	})
}

// only returns the only connection, for the loop's thread.
func (s *stand) only() *conn {
	if len(s.conns) == 0 {
		s.Fatal("there is no connection")
	}
	return s.conns[0]
}

// dialNarrow connects a client to which the server can send no more than some 30 KB that it does not read.
func (s *stand) dialNarrow() *client {
	s.Helper()
	c := s.dialWith(func(fd uintptr) { // before it connects
		if err := unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 8<<10); err != nil {
			s.Error(err)
		}
	})
	s.await(1, listener.Opening)
	s.narrow(unix.SO_SNDBUF, 8<<10)
	return c
}

// padded is the reply to a GET with ?pad=n.
func padded(path string, n int) reply { return ok("GET " + path + " " + strings.Repeat("\x00", n)) }

// A client that does not read is not read from, and what is kept for it has a bound.
func TestBackPressure(t *testing.T) {
	const requests, pad = 2000, 2000
	s := open(t, listener.Config{})
	c := s.dial()
	s.await(1, listener.Opening)
	s.narrow(unix.SO_SNDBUF, 32<<10)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for i := range requests {
			c.Write([]byte(get(fmt.Sprintf("/now/%d?pad=%d", i, pad))))
		}
	}()
	s.await(1, listener.Writing)
	// The kernel may take some more for a while. Then nothing is handled any more, turn after turn.
	handled := s.handled.Load()
	testkit.Until(t, "loop that waits for its client", func() bool {
		before := handled
		for range 10 { // turns
			s.onLoop(func() {
				if n := cap(s.only().unsent); n > 2*outMax {
					t.Errorf("%d bytes are kept, more than two times %d", n, outMax)
				}
			})
		}
		handled = s.handled.Load()
		return handled == before
	})
	if handled >= requests/2 {
		t.Fatalf("%d of %d requests are handled for a client that does not read", handled, requests)
	}
	for i := range requests {
		c.want(padded(fmt.Sprintf("/now/%d", i), pad))
	}
	<-sent
	s.awaitHandled(requests)
	s.await(1, listener.Idle)
	s.onLoop(func() {
		if c := s.only(); c.unsent != nil || c.in != (framing.Input{}) {
			t.Error("an idle connection has buffers")
		}
	})
}

// Replies that have to wait for room keep their order, of whatever kind the requests are.
func TestPartialWrites(t *testing.T) {
	const pad = 60_000 // less than outMax: the request behind it is handled before the reply is sent
	for _, behind := range []string{"/now/2", "/later/2", "/sync/2", "/away/2"} {
		t.Run(behind, func(t *testing.T) {
			s := open(t, listener.Config{})
			c := s.dialNarrow()
			c.send(get(fmt.Sprintf("/now?pad=%d", pad)), get(behind), get("/now/3"))
			s.await(1, listener.Writing)
			s.onLoop(func() {
				if len(s.only().unsent) == 0 {
					t.Error("all is sent at once, the test is in vain")
				}
			})
			c.want(padded("/now", pad), ok("GET "+behind+" "), ok("GET /now/3 "))
		})
	}
	t.Run("/held", func(t *testing.T) {
		s := open(t, listener.Config{})
		c := s.dialNarrow()
		c.send(get(fmt.Sprintf("/now?pad=%d", pad)), get("/held"), get("/now/3"))
		s.await(1, listener.Serving)
		s.finish() // while the first reply waits for room
		s.await(1, listener.Writing)
		c.want(padded("/now", pad), ok("GET /held "), ok("GET /now/3 "))

		c.send(get(fmt.Sprintf("/now?pad=%d", pad)), get("/held"), get("/now/3"))
		c.want(padded("/now", pad))
		s.await(1, listener.Serving)
		s.finish() // after it has been sent
		c.want(ok("GET /held "), ok("GET /now/3 "))
	})
}

// The last reply of a connection is sent to its end, too.
func TestPartialWriteBeforeTheEnd(t *testing.T) {
	const pad = 500_000
	for _, last := range []string{
		"GET /now?pad=%d HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
		"GET /now?pad=%d HTTP/1.0\r\n\r\n",
		"GET /now?pad=%d HTTP/1.1\r\nHost: h\r\n\r\nbad\r\n",
	} {
		s := open(t, listener.Config{})
		c := s.dialNarrow()
		c.send(fmt.Sprintf(last, pad))
		c.CloseWrite()
		s.await(1, listener.Writing)
		got, err := c.read("GET")
		if err != nil || got.body != padded("/now", pad).body {
			t.Errorf("%q: reply of %d bytes, %v", last, len(got.body), err)
		}
		if !got.close {
			c.want(refused(3))
		}
		c.wantEnd()
		s.awaitNone()
	}
}

// A client that sends thousands of requests at once does not hold up the others.
func TestTurnByTurn(t *testing.T) {
	const requests = 10_000
	s := open(t, listener.Config{})
	many := s.dial()
	s.await(1, listener.Opening)
	s.narrow(unix.SO_RCVBUF, 2<<20) // room for all of them
	other := s.dial()
	s.await(2, listener.Opening)
	before := int64(-1)
	go func() { // it reads at its pace
		for range requests {
			if _, err := many.read("GET"); err != nil {
				t.Error(err)
				return
			}
		}
		many.Close()
	}()
	s.onLoop(func() {
		s.watch = func(x *Exchange) {
			if string(x.Path()) == "/other" {
				before = s.handled.Load()
			}
		}
		many.send(strings.Repeat(get("/n"), requests))
		other.send(get("/other"))
	})
	other.want(ok("GET /other "))
	s.onLoop(func() {
		if before < 0 || before > requestsMax {
			t.Errorf("%d requests of another client came before, a turn has at most %d", before, requestsMax)
		}
	})
	s.awaitHandled(requests + 1)
	s.await(1, listener.Idle)
}
