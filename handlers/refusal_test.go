package handlers

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/serve/listener"
	"flashsale/internal/testkit"
)

const (
	badRequestBody = `{"code":"BAD_REQUEST","message":"无法解析请求"}`
	bodyTooLarge   = `{"code":"BODY_TOO_LARGE","message":"请求体过大"}`
)

// dial opens a connection. A server that waits for more than it needs would close it without a reply.
func dial(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	testkit.Must(t, err)
	t.Cleanup(func() { c.Close() })
	testkit.Must(t, c.SetDeadline(time.Now().Add(testkit.Patience)))
	return c.(*net.TCPConn)
}

// send sends a text to a server that reads all of it.
func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	_, err := io.WriteString(c, text)
	testkit.Must(t, err)
}

// expectRefusal reads a refusal, which ends the connection.
func expectRefusal(t *testing.T, c net.Conn, status int, body string) {
	t.Helper()
	replies := bufio.NewReader(c)
	r, err := http.ReadResponse(replies, nil)
	testkit.Must(t, err)
	text, err := io.ReadAll(r.Body)
	if r.StatusCode != status || string(text) != body || err != nil {
		t.Errorf("%d %s, %v; want %d %s", r.StatusCode, text, err, status, body)
	}
	if !r.Close || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Date") == "" {
		t.Errorf("header %v, close %v", r.Header, r.Close)
	}
	if _, err := replies.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("behind the refusal: %v, want the end", err)
	}
}

// A client that sends all of a large body before it reads gets the reply (9112 9.6), with TLS too.
// Nothing is reset.
func TestLargeBodyIsAnswered(t *testing.T) { onBoth(t, testLargeBodyIsAnswered) }

func testLargeBodyIsAnswered(t *testing.T, s *shop) {
	body := strings.Repeat("x", 20<<20) // more than the buffers of the kernel hold
	flood := func(c net.Conn, head string) {
		t.Helper()
		send(t, c, head+body)
		expectRefusal(t, c, 413, bodyTooLarge)
	}
	address := s.listen(t)
	for range 3 {
		flood(dial(t, address), loginHead+"Content-Length: 20971520\r\n\r\n")
		flood(dial(t, address), loginHead+rawChunked+"\r\n1400000\r\n")
	}
	secure, trust, _ := s.encrypted(t)
	c, err := tls.Dial("tcp", secure, trust)
	testkit.Must(t, err)
	defer c.Close()
	flood(c, loginHead+"Content-Length: 20971520\r\n\r\n")
}

// No more is dropped than a limit, and for no longer than a limit.
func TestLingeringIsBounded(t *testing.T) { onBoth(t, testLingeringIsBounded) }

func testLingeringIsBounded(t *testing.T, s *shop) {
	address := s.listen(t)
	c := dial(t, address)
	go io.WriteString(c, loginHead+"Content-Length: 1000000000\r\n\r\n")
	expectRefusal(t, c, 413, bodyTooLarge)
	part := make([]byte, 1<<20)
	var err error
	sent := 0
	for ; err == nil; sent += len(part) {
		_, err = c.Write(part)
	}
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) || sent < 20<<20 {
		t.Errorf("after %d bytes: %v", sent, err)
	}

	silent := dial(t, address)
	send(t, silent, "\n")
	expectRefusal(t, silent, 400, badRequestBody)
	testkit.Until(t, "end of the connection", func() bool { // it may begin to linger behind the refusal
		s.tick(listener.LingerTimeout)
		return s.limiter.Count() == 0
	})
}
