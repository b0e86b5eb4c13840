package goroutines

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/serve/framing"
	"flashsale/internal/serve/listener"
	"flashsale/internal/testkit"
)

// single is a listener that accepts one connection.
type single struct {
	net.Listener
	conn net.Conn
}

func (l *single) Accept() (net.Conn, error) { return l.conn, nil }

// Further bytes of a request give it no more time, nor does being told to go on; a handler has all the time
// it takes, and each part of a reply has its own. Only when the whole reply is sent is a connection idle: a
// stop must not cut what is on its way.
func TestConnectionStates(t *testing.T) {
	limiter := listener.NewLimiter(listener.Config{})
	server, client := net.Pipe()
	s := newServer(limiter)
	accepted, err := (&door{limiter.Listen(&single{conn: server}), s}).Accept()
	testkit.Must(t, err)
	c := accepted.(*Conn)
	expect := func(what string, state listener.State, since int64) {
		t.Helper()
		if got, at := c.State(); got != state || at != since {
			t.Errorf("%s: state %d since %d, want %d since %d", what, got, at, state, since)
		}
	}
	pass := func(ticks int) {
		for range ticks {
			limiter.Tick()
		}
	}
	send := func(text string) {
		t.Helper()
		if _, err := io.WriteString(client, text); err != nil { // returns when all is read
			t.Fatal(err)
		}
	}
	const head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
	got := make(chan string)
	go func() {
		first, others := make([]byte, 1), make([]byte, 1<<10)
		_, err := c.Read(first)
		n, _ := c.Read(others)
		got <- fmt.Sprint(string(first)+string(others[:n]), err)
	}()
	expect("before the first byte", listener.Opening, 0)
	pass(2)
	send(head[:10])
	pass(3)
	send(head[10:])
	reply := make([]byte, len(framing.GoOn))
	if _, err := io.ReadFull(client, reply); err != nil || string(reply) != framing.GoOn {
		t.Errorf("%q, %v", reply, err)
	}
	pass(1)
	send("{}")
	settled := strings.Replace(head, " 100-continue", strings.Repeat(" ", 13), 1)
	if text := <-got; text != settled+"{}<nil>" {
		t.Errorf("fasthttp reads %q", text)
	}
	expect("after the whole request", listener.Reading, 2)
	if !c.begin() {
		t.Error("the request is not known")
	}
	expect("in the handler", listener.Serving, 6)
	pass(1000)
	limiter.CloseIdle()
	limiter.Tick()
	go io.ReadFull(client, make([]byte, 1))
	if _, err := c.Write([]byte("c")); err != nil {
		t.Errorf("the reply of a slow handler: %v", err)
	}
	expect("between two parts of a reply", listener.Serving, 1007)
	trackState(c, fasthttp.StateIdle)
	expect("after the reply", listener.Idle, 1007)
	if c.in != (framing.Input{}) {
		t.Error("an idle connection holds a buffer")
	}
}

// recording is a connection on which nothing more comes.
type recording struct {
	net.Conn
	out bytes.Buffer
}

func (c *recording) Read([]byte) (int, error)         { return 0, io.EOF }
func (c *recording) Write(b []byte) (int, error)      { return c.out.Write(b) }
func (c *recording) Close() error                     { return nil }
func (c *recording) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *recording) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *recording) SetDeadline(time.Time) error      { return nil }
func (c *recording) SetReadDeadline(time.Time) error  { return nil }
func (c *recording) SetWriteDeadline(time.Time) error { return nil }

// Where fasthttp finds two requests in what framing takes for one, the second is refused.
func TestParsersThatDisagree(t *testing.T) {
	limiter := listener.NewLimiter(listener.Config{})
	s, client := newServer(limiter), &recording{}
	c := &Conn{Conn: limiter.Hold(client, listener.Slot{}), server: s, handed: true, request: []byte(get + get)}
	_ = s.http.ServeConn(c)
	replies := client.out.String()
	ok, bad := strings.Count(replies, " 200 OK\r\n"), strings.Count(replies, " 400 Bad Request\r\n")
	if ok != 1 || bad != 1 || !strings.HasSuffix(replies, "malformed") {
		t.Errorf("replies %q, want 200 and 400", replies)
	}
	if n, err := c.Read(make([]byte, 10)); n > 0 || !errors.Is(err, errLonger) {
		t.Errorf("more of a request that has ended: %d bytes, %v", n, err)
	}
}

// After a large request a connection holds a large buffer only while it has a place.
func TestLargeBufferNeedsPlace(t *testing.T) {
	for _, test := range []struct {
		rest  int // bytes that came behind the request
		large bool
	}{{0, false}, {1, false}, {buffers.Longest(), false}, {buffers.Longest() + 1, true}} {
		limiter := listener.NewLimiter(listener.Config{})
		s := newServer(limiter)
		c := &Conn{Conn: limiter.Hold(&recording{}, listener.Slot{}), server: s}
		c.in.Hold(buffers.With([]byte(get)), len(get))
		if !c.enlarge() {
			t.Fatal("the first large request has no room")
		}
		c.in.Add(copy(c.in.Room(buffers), strings.Repeat("b", test.rest)))
		if v := c.in.Scan(&limits); v != framing.Whole {
			t.Fatalf("verdict %d", v)
		}
		c.in.Whole()
		c.in.Next()
		trackState(c, fasthttp.StateIdle)
		room := 0
		if test.rest > 0 {
			room = len(c.in.Bytes()) + len(c.in.Room(buffers))
		}
		if c.large != test.large || s.large.Load() == 1 != test.large || room > buffers.Longest() != test.large ||
			len(c.in.Bytes()) != test.rest {
			t.Errorf("%+v: place %v, room for %d bytes, %d of them held", test, c.large, room, len(c.in.Bytes()))
		}
		c.Close()
		if n := s.large.Load(); n != 0 {
			t.Errorf("%+v: %d places are taken after the end", test, n)
		}
	}
}

// A request that is too large for the event loop is taken whether its body is still to come or is there.
func TestTakesLargeRequests(t *testing.T) {
	s := newServer(listener.NewLimiter(listener.Config{}))
	for _, test := range []struct {
		length, come int
		want         bool
	}{{6000, 0, true}, {6000, 5999, true}, {6000, 6000, true}, {limits.Body + 1, 0, false}} {
		request := fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", test.length,
			strings.Repeat("x", test.come))
		if got := s.Takes([]byte(request)); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

// Only so many large requests have room at once; the next one is refused and small ones are served. There is
// room again when such a request is answered or its connection ends.
func TestLargeAtOnce(t *testing.T) {
	for _, kind := range []string{"plain", "lent"} {
		t.Run(kind, func(t *testing.T) {
			s := open(t, kind)
			const length = 10 << 10
			send := func() *client { // all but the last byte
				c := s.dial(t)
				c.send(fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", length,
					strings.Repeat("x", length-1)))
				return c
			}
			taken := func(want int64) {
				t.Helper()
				testkit.Until(t, fmt.Sprint(want, " have room"), func() bool { return s.large.Load() == want })
			}
			var first *client
			for i := range LargeMax {
				first = send()
				taken(int64(i + 1))
			}
			send().want(1, fmt.Sprint("refused ", int(framing.NoRoom)))
			small := s.dial(t)
			small.send(get)
			small.want(1, "0")
			first.send("x" + "P") // and the beginning of another request
			first.want(1, fmt.Sprint(length))
			taken(LargeMax - 1)
			second := send()
			taken(LargeMax)
			second.Close()
			taken(LargeMax - 1)
		})
	}
}
