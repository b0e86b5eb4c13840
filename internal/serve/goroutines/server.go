// Package goroutines is the HTTP server of all calls that may wait or take long, and of all calls over TLS:
// fasthttp's server, with a goroutine for each connection. It reads whole requests that framing has
// accepted. The event loop (internal/serve/eventloop) lends it a connection for one request. The package
// knows nothing of a sale.
package goroutines

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"flashsale/internal/serve/eventloop"
	"flashsale/internal/serve/framing"
	"flashsale/internal/serve/listener"
)

// LargeMax is how many requests of a worker may exceed a large buffer at once.
const LargeMax = 16

// Config is what a Server needs.
type Config struct {
	Limits  framing.Limits    // for one request
	Limiter *listener.Limiter // limits the connections
	Buffers *framing.Buffers  // for requests

	// Handler answers a request. It may wait.
	Handler fasthttp.RequestHandler
	// Malformed answers a request that framing accepts and fasthttp cannot read.
	Malformed fasthttp.RequestHandler
	// Refuse answers a request that framing refuses. The connection ends then.
	Refuse func(r *fasthttp.Response, peer netip.Addr, v framing.Verdict)
}

// Server serves HTTP/1.1 with a goroutine for each connection.
type Server struct {
	cfg   Config
	http  *fasthttp.Server
	line  *line
	large atomic.Int64 // requests that are larger than a large buffer
}

// NewServer makes a Server.
func NewServer(cfg Config) *Server {
	s := &Server{cfg: cfg, line: newLine()}
	s.http = &fasthttp.Server{
		Handler:                      s.serve,
		ErrorHandler:                 func(ctx *fasthttp.RequestCtx, _ error) { cfg.Malformed(ctx) },
		ConnState:                    trackState,
		Logger:                       quietLogger{},
		ReadBufferSize:               cfg.Limits.Head,
		MaxRequestBodySize:           cfg.Limits.LongestBody, // framing has the limit of each call
		ReduceMemoryUsage:            true,                   // an idle connection holds no buffers, see Conn.Read
		SecureErrorLogMessage:        true,                   // no text of a request, with its token, in errors
		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		DisablePreParseMultipartForm: true,
		CloseOnShutdown:              true,
	}
	return s
}

// Serve serves the connections of a socket, until Shutdown or until the socket fails.
func (s *Server) Serve(socket net.Listener) error {
	return s.http.Serve(&door{s.cfg.Limiter.Listen(socket), s})
}

// Shutdown waits until all requests are answered and their connections have ended, or ctx has.
func (s *Server) Shutdown(ctx context.Context) error { return s.http.ShutdownWithContext(ctx) }

// Lend serves one request of an event loop's connection and gives the connection back; unread begins with
// the request.
func (s *Server) Lend(home *eventloop.Server, socket net.Conn, slot listener.Slot, unread []byte) {
	c := &Conn{Conn: s.cfg.Limiter.Hold(socket, slot), server: s, home: home}
	c.in.Hold(s.cfg.Buffers.With(unread), len(unread))
	c.EnterReading()                        // before the goroutine runs: a drain closes idle connections
	go func() { _ = s.http.ServeConn(c) }() // an error is the client's fault and already answered
}

// Takes reports whether a request that is too large for the event loop may be that large. The loop may have
// received all of it.
func (s *Server) Takes(request []byte) bool {
	var r framing.Request
	v := r.Scan(request, &s.cfg.Limits)
	return v == framing.More || v == framing.Continue || v == framing.Whole
}

// door accepts connections for fasthttp.
type door struct {
	*listener.Listener
	server *Server
}

func (d *door) Accept() (net.Conn, error) {
	c, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &Conn{Conn: c.(*listener.Conn), server: d.server}, nil
}

// serve answers a request that fasthttp has read.
func (s *Server) serve(ctx *fasthttp.RequestCtx) {
	c := ctx.Conn().(*Conn)
	if !c.begin() {
		s.cfg.Malformed(ctx)
		return
	}
	c.queueUp()
	defer c.LeaveLine()
	if c.closes { // of several headers Connection fasthttp reads only the last
		ctx.SetConnectionClose()
	}
	s.cfg.Handler(ctx)
}

// trackState learns from fasthttp when the whole reply, which may be a stream, has been sent.
func trackState(c net.Conn, state fasthttp.ConnState) {
	if c, ok := c.(*Conn); ok && state == fasthttp.StateIdle {
		c.EnterIdle()
		c.over = true
		c.leaveLarge()
	}
}

// quietLogger receives fasthttp's log of single connections, such as resets: noise with many clients.
type quietLogger struct{}

func (quietLogger) Printf(format string, args ...any) { slog.Debug(fmt.Sprintf(format, args...)) }
