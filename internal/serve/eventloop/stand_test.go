package eventloop

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/serve/framing"
	"flashsale/internal/serve/listener"
	"flashsale/internal/testkit"
)

func init() { deferAccept = 0 } // a client that says nothing is there at once

var limits = framing.Limits{Head: 2 << 10, URL: 256, Headers: 20, Body: 2 << 10}

// buffers are small, so that requests of the tests need large ones too.
var buffers = framing.NewBuffers(512, limits.Longest())

// The refusals of a stand.
const (
	overLimit = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nfull"
	malformed = "malformed"
)

const padMax = 1 << 20 // bytes, see answer

var rawBody = []byte(`{"id":"1"}`)

// stand is a Server on a Loop that runs, with handlers that the path of a request chooses (handle).
type stand struct {
	testing.TB
	*Server
	loop    *Loop
	limiter *listener.Limiter
	address string
	handled atomic.Int64    // calls of the handler
	held    chan *Exchange  // those of /held, which the test finishes
	watch   func(*Exchange) // sees each call first
	away    func(net.Conn, listener.Slot, []byte)
	end     func() // ends the loop
}

// open runs a server until the test ends.
func open(tb testing.TB, cfg listener.Config) *stand {
	tb.Helper()
	testkit.KeepLog(tb)
	loop, err := New()
	testkit.Must(tb, err)
	s := &stand{TB: tb, loop: loop, held: make(chan *Exchange, 1024), watch: func(*Exchange) {}}
	s.away = func(socket net.Conn, slot listener.Slot, unread []byte) {
		go s.serveAway(socket, slot, unread)
	}
	cfg.Refusal = []byte(overLimit)
	s.limiter = listener.NewLimiter(cfg)
	s.Server = NewServer(loop, Config{Limits: limits, Limiter: s.limiter, Buffers: buffers, Handler: s.handle,
		Malformed: func(ctx *fasthttp.RequestCtx) {
			ctx.SetStatusCode(fasthttp.StatusBadRequest)
			ctx.SetBodyString(malformed)
			ctx.SetConnectionClose()
		},
		Refuse: func(r *fasthttp.Response, _ netip.Addr, v framing.Verdict) {
			r.SetStatusCode(fasthttp.StatusBadRequest)
			r.SetBodyString("refused " + strconv.Itoa(int(v)))
		},
		Away: func(socket net.Conn, slot listener.Slot, unread []byte) {
			s.away(socket, slot, unread)
		},
	})
	s.run()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(tb, err)
	s.address = l.Addr().String()
	testkit.Must(tb, s.Serve(l))
	return s
}

func (s *stand) run() {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.loop.Run(ctx) }()
	s.end = func() {
		stop()
		if err := <-ended; err != nil {
			s.Error(err)
		}
		ended <- nil
	}
	s.Cleanup(s.end)
}

// handle answers by the first part of the path: /later in a turn to come, /held when the test wants it,
// /sync later but within the handler, /away not at all; all others at once, /raw without an allocation.
func (s *stand) handle(x *Exchange) {
	if string(x.Path()) == "/raw" {
		x.Response.SetBodyRaw(rawBody)
		return
	}
	s.watch(x)
	s.handled.Add(1)
	switch kind(x.Path()) {
	case "later":
		x.Later()
		s.loop.Post(func() {
			answer(x)
			x.Finish()
		})
	case "held":
		x.Later()
		s.held <- x
	case "sync":
		x.Later()
		answer(x)
		x.Finish()
	case "away":
		x.SetBodyString("does not count")
		x.Decline()
	default:
		answer(x)
	}
}

func kind(path []byte) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(string(path), "/"), "/")
	return first
}

// answer echoes the request. ?pad=n makes the body n bytes longer, /close ends the connection.
func answer(x *Exchange) {
	fmt.Fprint(x, echo(&x.Request))
	x.Write(make([]byte, min(x.QueryArgs().GetUintOrZero("pad"), padMax)))
	if kind(x.Path()) == "close" {
		x.SetConnectionClose()
	}
}

func echo(r *fasthttp.Request) string {
	return fmt.Sprintf("%s %s %s", r.Header.Method(), r.URI().PathOriginal(), r.Body())
}

// serveAway stands for the other server: it serves one request and gives the connection back.
func (s *stand) serveAway(socket net.Conn, slot listener.Slot, unread []byte) {
	var r framing.Request
	if v := r.Scan(unread, &limits); v != framing.Whole {
		s.Errorf("%q is handed over, verdict %d", unread, v)
	}
	var request fasthttp.Request
	var p parser
	p.init(len(unread))
	if !p.read(&request, unread[:r.Size()]) {
		s.Errorf("%q is handed over, which fasthttp cannot read", unread)
	}
	var response fasthttp.Response
	response.SetBodyString(echo(&request))
	response.SkipBody = request.Header.IsHead()
	closing := r.Close || request.Header.ConnectionClose()
	if closing {
		response.SetConnectionClose()
	}
	if _, err := response.WriteTo(socket); err != nil || closing {
		socket.Close()
		s.limiter.Leave(slot)
		return
	}
	s.Return(socket, slot, unread[r.Size():])
}

// onLoop runs f on the thread of the loop and waits for it.
func (s *stand) onLoop(f func()) {
	s.Helper()
	done := make(chan struct{})
	if !s.loop.Post(func() { defer close(done); f() }) {
		s.Fatal("the loop has ended")
	}
	<-done
}

// pass lets seconds pass for the connections.
func (s *stand) pass(seconds int) {
	s.Helper()
	for range seconds {
		s.limiter.Tick()
		for unswept := 1; unswept > 0; {
			s.onLoop(func() { unswept = s.unswept })
		}
	}
}

// states returns what the server knows of its connections, by state.
func (s *stand) states() (states map[listener.State]int) {
	s.Helper()
	states = map[listener.State]int{}
	s.onLoop(func() {
		for _, c := range s.conns {
			states[c.state]++
		}
	})
	return states
}

// await waits until all connections, n of them, are in a state.
func (s *stand) await(n int, state listener.State) {
	s.Helper()
	testkit.Until(s, fmt.Sprintf("%d connections in state %d", n, state), func() bool {
		states := s.states()
		return states[state] == n && (n == 0 || len(states) == 1)
	})
}

// awaitNone waits until the server has closed all connections. No reply may be left: the next connection
// would send it.
func (s *stand) awaitNone() {
	s.Helper()
	testkit.Until(s, "end of all connections", func() bool { return s.limiter.Count() == 0 })
	if states := s.states(); len(states) != 0 {
		s.Errorf("connections that have ended are in states %v", states)
	}
	s.onLoop(func() {
		if len(s.out) > 0 {
			s.Errorf("%q is left of the replies", s.out)
		}
	})
}

// awaitHandled waits until the handler has been called n times.
func (s *stand) awaitHandled(n int64) {
	s.Helper()
	testkit.Until(s, fmt.Sprintf("%d requests", n), func() bool { return s.handled.Load() >= n })
	if got := s.handled.Load(); got != n {
		s.Fatalf("%d requests are handled, want %d", got, n)
	}
}

// finish answers the next request that is held.
func (s *stand) finish() {
	s.Helper()
	x := <-s.held
	s.onLoop(func() {
		answer(x)
		x.Finish()
	})
}

// dial connects a client.
func (s *stand) dial() *client {
	s.Helper()
	return s.dialWith(func(uintptr) {})
}

// dialWith is dial with a socket that set sets up.
func (s *stand) dialWith(set func(fd uintptr)) *client {
	s.Helper()
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error { return c.Control(set) }}
	c, err := dialer.Dial("tcp", s.address)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(testkit.Patience))
	return newClient(s, c.(*net.TCPConn))
}
