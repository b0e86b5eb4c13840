package handlers

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"

	"flashsale/internal/logtest"
	"flashsale/redisx/redistest"
)

// exhausted is a listener that is out of descriptors some times and then accepts.
type exhausted struct {
	net.Listener
	times int
	conn  net.Conn
}

func (e *exhausted) Accept() (net.Conn, error) {
	if e.times--; e.times >= 0 {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	if e.conn == nil {
		return nil, net.ErrClosed
	}
	c := e.conn
	e.conn = nil
	return c, nil
}

func TestAcceptOutlastsExhaustion(t *testing.T) {
	logtest.Keep(t)
	conn, _ := net.Pipe()
	l := &sweptListener{Listener: &exhausted{times: 3, conn: conn}, sweeper: newSweeper()}
	if c, err := l.Accept(); err != nil || c.(*connection).Conn != conn || l.sweeper.count() != 1 {
		t.Errorf("accepted %v, %v; %d connections", c, err, l.sweeper.count())
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed listener: %v", err)
	}
}

func TestSweepEndsEachStateInItsTime(t *testing.T) {
	for state, limit := range limits {
		if limit == 0 {
			continue // TestConnectionStates
		}
		s := newSweeper()
		server, client := net.Pipe()
		accepted, err := (&sweptListener{Listener: &exhausted{conn: server}, sweeper: s}).Accept()
		if err != nil {
			t.Fatal(err)
		}
		c := accepted.(*connection)
		c.enter(int64(state))
		open := func() bool {
			client.SetReadDeadline(time.Now().Add(time.Millisecond))
			_, err := client.Read(make([]byte, 1))
			return errors.Is(err, os.ErrDeadlineExceeded)
		}
		for range limit / sweepInterval {
			s.sweep()
		}
		if !open() {
			t.Errorf("state %d is ended before %v", state, limit)
		}
		s.sweep()
		if open() {
			t.Errorf("state %d is not ended after %v", state, limit)
		}
		if c.Close(); s.count() != 0 {
			t.Error("a closed connection is still counted")
		}
	}
}

// Further bytes of a request give it no more time, a handler has all it takes, and each part of a reply has its own. Only
// when the whole reply is sent is a connection idle: a stop must not cut what is on its way.
func TestConnectionStates(t *testing.T) {
	s := newSweeper()
	server, client := net.Pipe()
	c := &connection{Conn: server, socket: server, sweeper: s}
	go func() {
		client.Write([]byte("ab"))
		io.ReadFull(client, make([]byte, 2))
	}()
	expect := func(what string, state, since int64) {
		t.Helper()
		if got := c.clock.Load(); got != since*states+state {
			t.Errorf("%s: state %d since %d, want %d since %d", what, got%states, got/states, state, since)
		}
	}
	read := func() {
		t.Helper()
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	write := func(what string) {
		t.Helper()
		if _, err := c.Write([]byte("c")); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	expect("before the first byte", opening, 0)
	read()
	track(c, fasthttp.StateActive)
	s.now.Add(5)
	read()
	expect("after the second byte of a request", reading, 0)
	write("100 Continue")
	expect("after the reply that asks for the body", reading, 0)
	enter(c, serving)
	expect("in the handler", serving, 5)
	s.now.Add(1000)
	s.closeIdle()
	s.sweep()
	write("the reply of a slow handler")
	expect("between two parts of a reply", serving, 1006)
	track(c, fasthttp.StateIdle)
	expect("after the reply", idle, 1006)
}

// A client that is told to go on with its body gets no time for it that others do not get.
func TestContinueGivesNoTime(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	c, err := s.l.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go io.WriteString(c, loginHead+hasLength+"Expect: 100-continue\r\n\r\n")
	replies := bufio.NewReader(c)
	if r, err := http.ReadResponse(replies, nil); err != nil || r.StatusCode != http.StatusContinue {
		t.Fatalf("%v, %v; want 100", r, err)
	}
	for range readTimeout/sweepInterval + 1 {
		s.sweeper.sweep()
	}
	if err := c.SetReadDeadline(time.Now().Add(readTimeout)); err != nil {
		t.Fatal(err)
	}
	if _, err := replies.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("a body that does not come: %v, want the end of the connection", err)
	}
}

// A connection that never sent a byte does not hold a stop.
func TestDrainClosesSilentConnections(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	silent, err := s.l.Dial()
	if err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(10 * time.Second); s.sweeper.count() == 0; {
		if time.Now().After(limit) {
			t.Fatal("the connection is not accepted")
		}
	}
	idle, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Drain(t.Context(), idle, s.l); err != nil && !errors.Is(err, fasthttputil.ErrInmemoryListenerClosed) {
		t.Error(err)
	}
	if _, err := silent.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the silent connection reads %v, want its end", err)
	}
}

// Requests arrive whole however the network cuts them, also several at once and with a body behind the head.
func TestRequestsInPieces(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- s.Serve(l) }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.(*net.TCPConn).SetNoDelay(true)
	get := "GET /healthz HTTP/1.1\r\nHost: shop\r\n\r\n"
	body := `{"username":"nobody","password":"` + strings.Repeat("x", 3*headBytesMax) + `"}`
	post := "POST /login HTTP/1.1\r\nHost: shop\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
	replies := bufio.NewReader(c)
	for _, size := range []int{1, 2, 7, 100, 4096, 1 << 20} {
		text := get + post + get + get + post
		go func() {
			for rest := text; len(rest) > 0; {
				n := min(size, len(rest))
				if n < 100 && len(rest) < len(text)-200 { // single bytes for the first head only
					n = len(rest)
				}
				if _, err := c.Write([]byte(rest[:n])); err != nil {
					t.Error(err)
					return
				}
				rest = rest[n:]
			}
		}()
		for i, want := range []int{200, 403, 200, 200, 403} {
			r, err := http.ReadResponse(replies, nil)
			if err != nil {
				t.Fatalf("pieces of %d bytes, reply %d: %v", size, i, err)
			}
			if text, err := io.ReadAll(r.Body); err != nil || r.StatusCode != want {
				t.Fatalf("pieces of %d bytes, reply %d: %d %s, %v; want %d", size, i, r.StatusCode, text, err, want)
			}
		}
	}
	s.draining.Store(true)
	l.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
