package handlers

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/serve/listener"
)

const (
	badRequestBody = `{"code":"BAD_REQUEST","message":"无法解析请求"}`
	bodyTooLarge   = `{"code":"BODY_TOO_LARGE","message":"请求体过大"}`
)

// dial opens a connection on which nothing takes longer than a slow client may.
func dial(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(listener.RequestTimeout / 2)); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

// expectRefusal reads a refusal, which ends the connection.
func expectRefusal(t *testing.T, c net.Conn, status int, body string) {
	t.Helper()
	replies := bufio.NewReader(c)
	r, err := http.ReadResponse(replies, nil)
	if err != nil {
		t.Fatal(err)
	}
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

// A request is refused as soon as it cannot become a good one.
func TestRefusedAtOnce(t *testing.T) { onBoth(t, testRefusedAtOnce) }

func testRefusedAtOnce(t *testing.T, s *shop) {
	address := s.listen(t)
	for _, text := range []string{
		"GET /healthz HTTP/1.1\n", getHead + "X: a\n", getHead + " folded\r\n",
		"GET /healthz HTTP/9.9\r\n",
		loginHead + isChunked + "\r\n27;\r\n", loginHead + isChunked + "\r\n0\r\n\n",
	} {
		c := dial(t, address)
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		expectRefusal(t, c, 400, badRequestBody)
	}
}

// A request that is cut is refused; an empty line behind the last one is none.
func TestCutRequests(t *testing.T) { onBoth(t, testCutRequests) }

func testCutRequests(t *testing.T, s *shop) {
	address := s.listen(t)
	for _, text := range []string{
		"G", getHead, loginHead + hasLength + "\r\n{", loginHead + isChunked + "\r\n27\r\n",
	} {
		c := dial(t, address)
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		expectRefusal(t, c, 400, badRequestBody)
	}
	for _, text := range []string{"", "\r\n", "\r\n\r\n\r"} {
		c := dial(t, address)
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(c); len(got) > 0 || err != nil {
			t.Errorf("%q is answered %q, %v", text, got, err)
		}
	}
}

// A client that sends all of a large body before it reads gets the reply, with TLS too.
func TestLargeBodyIsAnswered(t *testing.T) { onBoth(t, testLargeBodyIsAnswered) }

func testLargeBodyIsAnswered(t *testing.T, s *shop) {
	body := bytes.Repeat([]byte("x"), 20<<20)
	send := func(c net.Conn, head string) {
		t.Helper()
		for _, part := range [][]byte{[]byte(head), body} {
			if _, err := c.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		expectRefusal(t, c, 413, bodyTooLarge)
	}
	address := s.listen(t)
	for range 5 {
		send(dial(t, address), loginHead+"Content-Length: 20971520\r\n\r\n")
	}
	send(dial(t, address), loginHead+isChunked+"\r\n1400000\r\n")
	secure, trust, _ := s.encrypted(t)
	c, err := tls.Dial("tcp", secure, trust)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	send(c, loginHead+"Content-Length: 20971520\r\n\r\n")
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
	if _, err := io.WriteString(silent, "\n"); err != nil {
		t.Fatal(err)
	}
	expectRefusal(t, silent, 400, badRequestBody)
	s.tick(listener.LingerTimeout)
	for limit := time.Now().Add(10 * time.Second); s.limiter.Count() > 0; {
		if time.Now().After(limit) {
			t.Fatal("the connection is not ended")
		}
	}
}

// A client that waits to be told to send its body is told once, in whatever case it asks, and not where the
// body will not be read or is there already.
func TestContinue(t *testing.T) { onBoth(t, testContinue) }

func testContinue(t *testing.T, s *shop) {
	address := s.listen(t)
	for _, test := range []struct {
		name, head, body string
		asked            bool
		statuses         []int
	}{
		{"plain", loginHead + hasLength + "Expect: 100-continue\r\n\r\n", loginBody, true, []int{200}},
		{
			"the JDK's client", loginHead + hasLength + "Expect: 100-Continue\r\n\r\n",
			loginBody, true, []int{200},
		},
		{
			"in capitals", loginHead + hasLength + "EXPECT:100-CONTINUE \r\n\r\n",
			loginBody, true, []int{200},
		},
		{
			"twice", loginHead + hasLength + "Expect: 100-continue\r\nExpect: 100-continue\r\n\r\n",
			loginBody, true, []int{200},
		},
		{
			"in a list", loginHead + hasLength + "Expect: x, 100-continue\r\n\r\n",
			loginBody, true, []int{200},
		},
		{"chunks", loginHead + isChunked + "Expect: 100-continue\r\n\r\n", inChunks, true, []int{200}},
		{
			"another expectation", loginHead + hasLength + "Expect: 200-ok\r\n\r\n",
			loginBody, false, []int{200},
		},
		{
			"HTTP/1.0", "POST /login HTTP/1.0\r\n" + hasLength + "Expect: 100-continue\r\n\r\n",
			loginBody, false, []int{200},
		},
		{"no body", getHead + "Expect: 100-continue\r\n\r\n", "", false, []int{200}},
		{
			"empty body", loginHead + "Content-Length: 0\r\nExpect: 100-continue\r\n\r\n",
			"", false, []int{400},
		},
		{
			"body too long", loginHead + "Content-Length: 32769\r\nExpect: 100-continue\r\n\r\n",
			"", false, []int{413},
		},
		{
			"length that is none", loginHead + "Content-Length: x\r\nExpect: 100-continue\r\n\r\n",
			"", false, []int{400},
		},
		{
			"head that is refused", loginHead + hasLength + "Expect: 100-continue\r\nX : a\r\n\r\n",
			"", false, []int{400},
		},
		{"body that is there", loginHead + hasLength + "Expect: 100-continue\r\n\r\n" + loginBody, "", false,
			[]int{200}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := dial(t, address)
			replies := bufio.NewReader(c)
			if _, err := io.WriteString(c, test.head); err != nil {
				t.Fatal(err)
			}
			if test.asked {
				if r, err := http.ReadResponse(replies, nil); err != nil ||
					r.StatusCode != http.StatusContinue {
					t.Fatalf("%v, %v; want 100", r, err)
				}
			}
			if _, err := io.WriteString(c, test.body); err != nil {
				t.Fatal(err)
			}
			if err := c.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if statuses := statusesOf(t, replies); !slices.Equal(statuses, test.statuses) {
				t.Errorf("statuses %v, want %v", statuses, test.statuses)
			}
		})
	}
}

// statusesOf reads replies until the connection ends.
func statusesOf(t *testing.T, replies *bufio.Reader) (statuses []int) {
	t.Helper()
	for {
		if _, err := replies.Peek(1); errors.Is(err, io.EOF) {
			return statuses
		}
		r, err := http.ReadResponse(replies, nil)
		if err != nil {
			t.Fatalf("after %v: %v", statuses, err)
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Fatalf("after %v: %v", statuses, err)
		}
		statuses = append(statuses, r.StatusCode)
	}
}

// What stands behind the chunks is no header: it neither opens a call nor names a client.
func TestTrailersAreDropped(t *testing.T) { onBoth(t, testTrailersAreDropped) }

func testTrailersAreDropped(t *testing.T, s *shop) {
	c := dial(t, s.listen(t))
	request := "GET /orders HTTP/1.1\r\n" + shopHost + isChunked + "\r\n0\r\n" +
		"Access-Token: " + s.token(2) + "\r\n\r\n"
	if _, err := io.WriteString(c, request+getHead+"Connection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if statuses := statusesOf(t, bufio.NewReader(c)); !slices.Equal(statuses, []int{401, 200}) {
		t.Errorf("statuses %v, want 401 and 200", statuses)
	}
}

// A refused HEAD gets no body.
func TestRefusedHead(t *testing.T) { onBoth(t, testRefusedHead) }

func testRefusedHead(t *testing.T, s *shop) {
	c := dial(t, s.listen(t))
	if _, err := io.WriteString(c, "HEAD /foods HTTP/1.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(c)
	if got := string(text); err != nil || !strings.HasPrefix(got, "HTTP/1.1 400 Bad Request\r\n") ||
		!strings.HasSuffix(got, "\r\n\r\n") {
		t.Errorf("%q, %v", text, err)
	}
}

// Where fasthttp found two requests in what framing takes for one, the second is refused.
func TestParsersThatDisagree(t *testing.T) {
	s, _ := closedShop(t)
	in := &recording{in: strings.NewReader("")}
	c := &framedConn{Conn: s.limiter.NewConn(in), server: s, handed: true,
		received: requests.Small.Get().(*[]byte)}
	c.filled = copy(*c.received, getHead+"\r\n"+getHead+"\r\n")
	c.end = c.filled
	_ = s.http.ServeConn(c)
	if statuses := statusesOf(t, bufio.NewReader(&in.out)); !slices.Equal(statuses, []int{200, 400}) {
		t.Errorf("statuses %v, want 200 and 400", statuses)
	}
	if n, err := c.Read(make([]byte, 10)); n > 0 || !errors.Is(err, errLonger) {
		t.Errorf("more of a request that has ended: %d bytes, %v", n, err)
	}
}
