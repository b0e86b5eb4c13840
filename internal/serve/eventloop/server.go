package eventloop

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"

	"flashsale/internal/serve/framing"
	"flashsale/internal/serve/listener"
	"flashsale/internal/serve/rawio"
)

const (
	acceptsMax = 64 // connections accepted in one turn
	// In one turn the loop looks at the time limits of at most sweptMax connections, and closes at most
	// closesMax of them: a close costs some microseconds.
	sweptMax  = 256
	closesMax = 16
	keepAlive = 15 // seconds until TCP asks whether a silent client is still there, as in package net
)

// The kernel reports a connection when its first bytes have come, which saves a wake-up and a read in vain.
// It reports a silent connection after about this time, in seconds. (Most tests set 0, for at once.)
var deferAccept = 1

// Config is what a Server needs.
type Config struct {
	Limits  framing.Limits    // for one request
	Limiter *listener.Limiter // limits the number of connections
	Buffers *framing.Buffers  // for requests; a large one has room for the longest request

	// Handler answers a request. It runs on the loop's thread and must not wait.
	Handler func(*Exchange)
	// Malformed answers a request that framing accepts and fasthttp cannot read.
	Malformed func(*fasthttp.RequestCtx)
	// Refuse answers a request that framing refuses. The connection ends then.
	Refuse func(r *fasthttp.Response, peer netip.Addr, v framing.Verdict)
	// Away takes over a connection for a request that the Handler has declined; unread begins with that
	// request. The connection keeps its slot in the Limiter; it comes back by Return.
	Away func(socket net.Conn, slot listener.Slot, unread []byte)
	// TooLarge reports whether Away takes a request with a body over Limits.Body. request is the part that has
	// come, at least the whole head. nil means never.
	TooLarge func(request []byte) bool
}

// Server serves HTTP/1.1 on a Loop. Serve, StopAccepting, CloseIdle and Return are safe for concurrent use.
type Server struct {
	cfg  Config
	loop *Loop

	socket    int // listening socket; -1 before and after
	accepting bool
	retry     time.Time // time of the next accept after a lack of descriptors
	closeIdle bool      // CloseIdle has been called

	conns   []*conn // open connections
	unswept int     // number of the first conns; closeOverdue has yet to look at their time

	out    []byte // replies of the connection under way, not sent yet
	parser parser

	pending   queue // connections that have had their share of a turn
	leaving   queue // connections with a request for Config.Away
	tickets   int64 // number of tickets given out
	polled    int64 // last ticket before the events were polled
	pipelined int   // requests of this turn, without the first of each connection

	free, exchanges sync.Pool // for reuse
}

// NewServer makes a Server on a Loop. It must be called before the Loop runs.
func NewServer(loop *Loop, cfg Config) *Server {
	s := &Server{cfg: cfg, loop: loop, socket: -1}
	s.parser.init(cfg.Limits.Longest())
	s.free.New = func() any { return &conn{} }
	s.exchanges.New = func() any { return &Exchange{} }
	loop.BeforeEnd(s.endTurn)
	loop.AtStop(s.stop)
	cfg.Limiter.AtTick(func() { loop.Post(s.sweep) })
	return s
}

// Serve begins to accept connections from a TCP listener. It closes the listener and uses a descriptor of
// its own, which the Go runtime does not watch.
func (s *Server) Serve(l net.Listener) error {
	socket, err := rawio.Duplicate(l)
	if err != nil {
		return err
	}
	l.Close()
	for _, option := range []struct{ level, name, value int }{ // which connections inherit
		{unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
		{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, keepAlive},
		{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, keepAlive},
		{unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, deferAccept},
	} {
		if err := unix.SetsockoptInt(socket, option.level, option.name, option.value); err != nil {
			unix.Close(socket)
			return fmt.Errorf("cannot set up the listening socket: %w", err)
		}
	}
	failed := make(chan error, 1)
	if !s.loop.Post(func() { failed <- s.listen(socket) }) {
		unix.Close(socket)
		return net.ErrClosed
	}
	return <-failed
}

func (s *Server) listen(socket int) error {
	if err := s.loop.Watch(socket, s); err != nil {
		rawio.Close(socket)
		return err
	}
	s.socket = socket
	return nil
}

// StopAccepting accepts the connections that wait, and closes the listening socket.
func (s *Server) StopAccepting() {
	s.loop.Post(func() {
		if s.socket < 0 {
			return
		}
		for s.accepting = true; s.accepting; {
			s.acceptSome()
		}
		s.closeSocket()
	})
}

// closeSocket closes the listening socket. It calls Forget because the supervisor may have the socket open
// too: then closing alone does not make the kernel forget it.
func (s *Server) closeSocket() {
	s.loop.Forget(s.socket, false)
	rawio.Close(s.socket)
	s.socket, s.retry = -1, time.Time{}
}

// CloseIdle closes the connections without a request under way, now and from now on.
func (s *Server) CloseIdle() {
	s.loop.Post(func() {
		s.closeIdle = true
		s.eachConn(func(c *conn) {
			waits := (c.state == listener.Opening || c.state == listener.Idle) && !c.waits()
			if waits || c.state == listener.Lingering {
				c.close()
			}
		})
	})
}

// eachConn calls f for each connection, which f may close.
func (s *Server) eachConn(f func(*conn)) {
	for i := len(s.conns) - 1; i >= 0; i-- { // a closed connection gives its index to the last one
		f(s.conns[i])
	}
}

// stop closes everything after the loop has ended: no exchange will end any more.
func (s *Server) stop() {
	if s.socket >= 0 {
		s.closeSocket()
	}
	s.eachConn(func(c *conn) {
		c.exchange = nil
		c.close()
	})
}

// Ready accepts connections.
func (s *Server) Ready(Events) {
	s.accepting = true
	s.acceptSome()
}

// acceptSome accepts at most acceptsMax connections. accepting stays true if more may wait.
func (s *Server) acceptSome() {
	for range acceptsMax {
		socket, peer, err := accept(s.socket)
		if err != nil {
			s.accepting = false
			if !errors.Is(err, rawio.ErrAgain) {
				s.cfg.Limiter.AcceptFailed(err)
				s.retry = s.loop.Now().Add(listener.AcceptRetry)
			}
			return
		}
		slot, ok := s.cfg.Limiter.Admit(peer.Addr())
		if !ok {
			_, _ = rawio.Send(socket, s.cfg.Limiter.Refusal()) // it fits into the empty buffer of a new socket
			rawio.Close(socket)
			continue
		}
		s.newConn(socket, peer, slot).advance()
	}
}

// endTurn serves connections that have had their share of the turn.
func (s *Server) endTurn(now time.Time) (again time.Time) {
	if !s.retry.IsZero() && !now.Before(s.retry) {
		s.retry, s.accepting = time.Time{}, true
	}
	if s.accepting {
		s.acceptSome()
	}
	s.closeOverdue()
	if s.serveWaiting() {
		s.loop.Yield()
		return now
	}
	if s.accepting || s.unswept > 0 {
		return now
	}
	return s.retry // the zero Time unless an accept has failed
}
