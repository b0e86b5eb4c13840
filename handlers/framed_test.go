package handlers

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/serve/listener"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
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
	s := listener.NewLimiter(listener.Config{})
	server, client := net.Pipe()
	shop, _ := closedShop(t)
	accepted, err := framedListener{s.Listen(&single{conn: server}), shop}.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c := accepted.(*framedConn)
	expect := func(what string, state listener.State, since int64) {
		t.Helper()
		if got, at := c.State(); got != state || at != since {
			t.Errorf("%s: state %d since %d, want %d since %d", what, got, at, state, since)
		}
	}
	pass := func(ticks int) {
		for range ticks {
			s.Tick()
		}
	}
	send := func(text string) {
		t.Helper()
		if _, err := io.WriteString(client, text); err != nil { // returns when all is read
			t.Fatal(err)
		}
	}
	head := loginHead + hasLength + "Expect: 100-continue\r\n\r\n"
	got := make(chan string)
	go func() {
		first, rest := make([]byte, 1), make([]byte, headBytesMax)
		_, err := c.Read(first)
		n, _ := c.Read(rest)
		got <- fmt.Sprint(string(first)+string(rest[:n]), err)
	}()
	expect("before the first byte", listener.Opening, 0)
	pass(2)
	send(head[:10])
	pass(3)
	send(head[10:])
	reply := make([]byte, len(goOn))
	if _, err := io.ReadFull(client, reply); err != nil || string(reply) != string(goOn) {
		t.Errorf("%q, %v", reply, err)
	}
	pass(1)
	send(loginBody)
	if text := <-got; text != strings.Replace(head, " 100-continue", strings.Repeat(" ", 13),
		1)+loginBody+"<nil>" {
		t.Errorf("fasthttp reads %q", text)
	}
	expect("after the whole request", listener.Reading, 2)
	if !c.serve() {
		t.Error("the request is not known")
	}
	expect("in the handler", listener.Serving, 6)
	pass(1000)
	s.CloseIdle()
	s.Tick()
	go io.ReadFull(client, make([]byte, 1))
	if _, err := c.Write([]byte("c")); err != nil {
		t.Errorf("the reply of a slow handler: %v", err)
	}
	expect("between two parts of a reply", listener.Serving, 1007)
	trackState(c, fasthttp.StateIdle)
	expect("after the reply", listener.Idle, 1007)
	if c.received != nil {
		t.Error("an idle connection holds a buffer")
	}
}

// A client that is told to go on with its body gets no time for it that others do not get.
func TestContinueGivesNoTime(t *testing.T) { onBoth(t, testContinueGivesNoTime) }

func testContinueGivesNoTime(t *testing.T, s *shop) {
	c, err := s.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go io.WriteString(c, loginHead+hasLength+"Expect: 100-continue\r\n\r\n")
	replies := bufio.NewReader(c)
	if r, err := http.ReadResponse(replies, nil); err != nil || r.StatusCode != http.StatusContinue {
		t.Fatalf("%v, %v; want 100", r, err)
	}
	s.tick(listener.RequestTimeout)
	if err := c.SetReadDeadline(time.Now().Add(listener.RequestTimeout)); err != nil {
		t.Fatal(err)
	}
	if _, err := replies.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("a body that does not come: %v, want the end of the connection", err)
	}
}

// A connection that never sent a byte does not hold a stop.
func TestDrainClosesSilentConnections(t *testing.T) { onBoth(t, testDrainClosesSilentConnections) }

func testDrainClosesSilentConnections(t *testing.T, s *shop) {
	silent, err := s.dial()
	if err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(10 * time.Second); s.limiter.Count() == 0; {
		if time.Now().After(limit) {
			t.Fatal("the connection is not accepted")
		}
	}
	idle, cancel := context.WithCancel(t.Context())
	cancel()
	s.drain(idle)
	if _, err := silent.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the silent connection reads %v, want its end", err)
	}
}

// A request under way when a stop begins is answered, and its connection ends with that.
func TestDrainAnswersWhatIsUnderWay(t *testing.T) { onEngines(t, testDrainAnswers) }

func testDrainAnswers(t *testing.T, open opener) {
	redis := redistest.New(t)
	s := open(t, "unix", redis.Socket)
	c, err := s.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	testkit.Until(t, "connection", func() bool { return s.limiter.Count() == 1 })
	redis.Freeze(t)
	if _, err := io.WriteString(c, s.filler().Replace(orderCall+orderCall)); err != nil {
		t.Fatal(err)
	}
	idle, end := context.WithCancel(t.Context())
	defer end()
	if s.do(func() {}); s.loop != nil {
		end() // the loop has the request: to end idle connections does not end this one
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		s.drain(idle)
	}()
	testkit.Until(t, "drain", s.draining.Load)
	redis.Thaw(t)
	replies := bufio.NewReader(c)
	r, err := http.ReadResponse(replies, nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r.Body); string(text) != cartEmpty || err != nil || !r.Close {
		t.Errorf("%d %s, close %t, %v", r.StatusCode, text, r.Close, err)
	}
	if _, err := replies.ReadByte(); err == nil {
		t.Error("a reply behind the last one")
	}
	<-drained
}

// Requests arrive whole however the network cuts them, with TLS or without, also several at once and with a
// body behind the head.
func TestRequestsInPieces(t *testing.T) { onBoth(t, testRequestsInPieces) }

func testRequestsInPieces(t *testing.T, s *shop) {
	plain, err := net.Dial("tcp", s.listen(t))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	plain.(*net.TCPConn).SetNoDelay(true)
	testPieces(t, plain)
	address, trust, _ := s.encrypted(t)
	encrypted, err := tls.Dial("tcp", address, trust)
	if err != nil {
		t.Fatal(err)
	}
	defer encrypted.Close()
	testPieces(t, encrypted)
}

func testPieces(t *testing.T, c net.Conn) {
	t.Helper()
	get := getHead + "\r\n"
	body := `{"username":"nobody","password":"` + strings.Repeat("x", 900) + `"}`
	head := loginHead + "Content-Length: " + strconv.Itoa(len(body)) + "\r\n"
	long := "X: " + strings.Repeat("x", 7000) + "\r\n\r\n"
	chunks := loginHead + isChunked + long + fmt.Sprintf("%x;a=b\r\n%s\r\n0\r\nX: y\r\n\r\n", len(body),
		body)
	replies := bufio.NewReader(c)
	for _, size := range []int{1, 2, 7, 100, 4096, 1 << 20} {
		text := get + head + "\r\n" + body + get + get + "\r\n" + chunks + head + "\r\n" + body
		go func() {
			for rest := text; len(rest) > 0; {
				n := min(size, len(rest))
				if n < 100 && len(rest) < len(text)-200 { // single bytes for the first head only
					n = len(rest)
				}
				if _, err := io.WriteString(c, rest[:n]); err != nil {
					t.Error(err)
					return
				}
				rest = rest[n:]
			}
		}()
		for i, want := range []int{200, 403, 200, 200, 403, 403} {
			r, err := http.ReadResponse(replies, nil)
			if err != nil {
				t.Fatalf("pieces of %d bytes, reply %d: %v", size, i, err)
			}
			if text, err := io.ReadAll(r.Body); err != nil || r.StatusCode != want {
				t.Fatalf("pieces of %d bytes, reply %d: %d %s, %v; want %d", size, i, r.StatusCode, text,
					err, want)
			}
		}
	}
}
