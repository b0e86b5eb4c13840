package goroutines

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/serve/eventloop"
	"flashsale/internal/serve/eventloop/looptest"
	"flashsale/internal/serve/framing"
	"flashsale/internal/serve/listener"
	"flashsale/internal/serve/listener/certtest"
	"flashsale/internal/testkit"
)

var (
	limits  = framing.Limits{Head: 1 << 10, URL: 256, Headers: 20, Body: 64 << 10}
	buffers = framing.NewBuffers(512, 4<<10)
)

const get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

// newServer makes a server that answers with the length of a request's body.
func newServer(limiter *listener.Limiter) *Server {
	return NewServer(Config{Limits: limits, Limiter: limiter, Buffers: buffers,
		Handler:   func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString(strconv.Itoa(len(ctx.PostBody()))) },
		Malformed: func(ctx *fasthttp.RequestCtx) { ctx.Error("malformed", http.StatusBadRequest) },
		Refuse: func(r *fasthttp.Response, _ netip.Addr, v framing.Verdict) {
			r.SetStatusCode(http.StatusBadRequest)
			r.SetBodyString("refused " + strconv.Itoa(int(v)))
		}})
}

// stand is a Server on a port of this machine.
type stand struct {
	*Server
	address string
	trust   *tls.Config // nil for plain text
}

// open serves until the test ends: plain text, TLS, or what an event loop lends.
func open(t *testing.T, kind string) *stand {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	s := &stand{address: l.Addr().String()}
	cfg := listener.Config{}
	if kind == "TLS" {
		files := certtest.Write(t, t.TempDir(), time.Now().Add(time.Hour))
		certificate, err := listener.ReadCertificate(files.ChainFile, files.KeyFile)
		if err == nil {
			cfg.TLS, err = certificate.TLS()
		}
		testkit.Must(t, err)
		s.trust = certtest.Trust(files)
	}
	limiter := listener.NewLimiter(cfg)
	s.Server = newServer(limiter)
	if kind == "lent" {
		s.lendFrom(t, l, limiter)
		return s
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		l.Close()
		<-ended
	})
	return s
}

// lendFrom has an event loop serve the socket, which leaves each request to the stand.
func (s *stand) lendFrom(t *testing.T, l net.Listener, limiter *listener.Limiter) {
	t.Helper()
	loop := looptest.Run(t)
	short := limits
	short.Body = buffers.Longest() - limits.Head
	var home *eventloop.Server
	looptest.On(loop, func() {
		home = eventloop.NewServer(loop, eventloop.Config{Limits: short, Limiter: limiter, Buffers: buffers,
			Handler: (*eventloop.Exchange).Decline, TooLarge: s.Takes, Refuse: s.cfg.Refuse,
			Away: func(socket net.Conn, slot listener.Slot, unread []byte) {
				s.Lend(home, socket, slot, unread)
			}})
	})
	testkit.Must(t, home.Serve(l))
}

// client is a connection to a stand.
type client struct {
	net.Conn
	t       *testing.T
	replies *bufio.Reader
}

func (s *stand) dial(t *testing.T) *client {
	t.Helper()
	c, err := net.Dial("tcp", s.address)
	testkit.Must(t, err)
	if s.trust != nil {
		c = tls.Client(c, s.trust)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(testkit.Patience))
	return &client{c, t, bufio.NewReader(c)}
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
}

// want reads replies with this body.
func (c *client) want(n int, body string) {
	c.t.Helper()
	for i := range n {
		if got, err := c.next(); got != body || err != nil {
			c.t.Fatalf("reply %d of %d: %q, %v; want %q", i+1, n, got, err, body)
		}
	}
}

// next reads the body of the next reply.
func (c *client) next() (body string, err error) {
	r, err := http.ReadResponse(c.replies, nil)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r.Body)
	return string(text), err
}
