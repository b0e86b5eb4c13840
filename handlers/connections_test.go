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

	"flashsale/internal/serve/listener"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// A client that is told to go on with its body gets no time for it that others do not get.
func TestContinueGivesNoTime(t *testing.T) { onBoth(t, testContinueGivesNoTime) }

func testContinueGivesNoTime(t *testing.T, s *shop) {
	c, err := s.dial()
	testkit.Must(t, err)
	defer c.Close()
	go io.WriteString(c, loginHead+rawLength+"Expect: 100-continue\r\n\r\n")
	replies := bufio.NewReader(c)
	if r, err := http.ReadResponse(replies, nil); err != nil || r.StatusCode != http.StatusContinue {
		t.Fatalf("%v, %v; want 100", r, err)
	}
	s.tick(listener.RequestTimeout)
	testkit.Must(t, c.SetReadDeadline(time.Now().Add(listener.RequestTimeout)))
	if _, err := replies.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("a body that does not come: %v, want the end of the connection", err)
	}
}

// A connection that never sent a byte does not hold a stop.
func TestDrainClosesSilentConnections(t *testing.T) { onBoth(t, testDrainClosesSilentConnections) }

func testDrainClosesSilentConnections(t *testing.T, s *shop) {
	silent, err := s.dial()
	testkit.Must(t, err)
	testkit.Until(t, "connection", func() bool { return s.limiter.Count() == 1 })
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
	testkit.Must(t, err)
	defer c.Close()
	testkit.Until(t, "connection", func() bool { return s.limiter.Count() == 1 })
	redis.Freeze(t)
	send(t, c, s.filler().Replace(orderCall+orderCall))
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
	testkit.Must(t, err)
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
	testkit.Must(t, err)
	defer plain.Close()
	plain.(*net.TCPConn).SetNoDelay(true)
	testPieces(t, plain)
	address, trust, _ := s.encrypted(t)
	encrypted, err := tls.Dial("tcp", address, trust)
	testkit.Must(t, err)
	defer encrypted.Close()
	testPieces(t, encrypted)
}

func testPieces(t *testing.T, c net.Conn) {
	t.Helper()
	get := getHead + "\r\n"
	body := `{"username":"nobody","password":"` + strings.Repeat("x", 900) + `"}`
	head := loginHead + "Content-Length: " + strconv.Itoa(len(body)) + "\r\n"
	long := "X: " + strings.Repeat("x", 7000) + "\r\n\r\n"
	chunks := loginHead + rawChunked + long + fmt.Sprintf("%x;a=b\r\n%s\r\n0\r\nX: y\r\n\r\n", len(body),
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
