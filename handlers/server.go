// Package handlers speaks HTTP and JSON: it turns requests into calls of the sale and outcomes into replies.
// A connection hands fasthttp whole requests, those that internal/framing accepts; they enter by routes.go, and
// one file per resource follows. The package holds no facts of the sale but the ready-made food list. The hot
// calls (login, foods, carts, add, order) do not allocate; what needs Redis waits for it, at most as long as
// redisx allows.
package handlers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/catalog"
	"flashsale/internal/logpace"
	"flashsale/redisx"
	"flashsale/tokens"
)

// Limits of a request; fasthttp has none, or larger ones, by default. The times are kept by the sweeper.
const (
	headBytesMax = 8 << 10 // request line and headers
	urlBytesMax  = 1 << 10 // no call needs more than some hundred
	headersMax   = 100     // browsers send about twenty
	bodyBytesMax = 4 << 10 // no call takes more than some hundred bytes
	readTimeout  = 10 * time.Second
	writeTimeout = 10 * time.Second
	idleTimeout  = 75 * time.Second // longer than the 60 s for which proxies commonly keep a connection
	drainPoll    = 5 * time.Millisecond

	lingerTimeout  = 5 * time.Second // for the rest of a request that is refused
	lingerBytesMax = 32 << 20        // of that rest
)

// Config is what the handlers stand on.
type Config struct {
	Catalog  *catalog.Catalog
	Keys     *tokens.Keys
	Sale     *redisx.Sale
	TokenTTL time.Duration // how long an access token is valid

	TLS                *tls.Config    // nil for plain HTTP
	ConnsMax           int            // connections at once; 0 is as many as there are file descriptors
	ConnsPerAddressMax int            // the same for each client address, trusted proxies excepted
	TrustedProxies     []netip.Prefix // whose X-Forwarded-For is believed
}

// Server answers the sale's HTTP calls.
type Server struct {
	cfg      Config
	foods    atomic.Pointer[[]byte] // ready-made body of GET /foods; nil until the stock is known
	draining atomic.Bool
	sweeper  *sweeper
	http     *fasthttp.Server

	looks         looks
	lists         atomic.Int64 // of all orders, that are being sent
	refusedLogins logpace.Pace
	refusedTokens logpace.Pace
	brokenLists   logpace.Pace
}

// New makes a Server that is not ready before PublishStock was called.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg, sweeper: newSweeper()}
	s.http = &fasthttp.Server{
		Handler:                      s.handle,
		ErrorHandler:                 badRequest,
		ConnState:                    track,
		Logger:                       quietLogger{},
		ReadBufferSize:               headBytesMax,
		MaxRequestBodySize:           bodyBytesMax,
		ReduceMemoryUsage:            true, // an idle connection holds no buffers; see connection.Read
		SecureErrorLogMessage:        true, // no text of a request, which may hold a token, in errors
		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		DisablePreParseMultipartForm: true,
		CloseOnShutdown:              true,
	}
	return s
}

// Serve answers what comes in by the listener, until Drain or until the listener fails.
func (s *Server) Serve(l net.Listener) error {
	done := make(chan struct{})
	defer close(done)
	go s.sweeper.run(done)
	swept := &sweptListener{Listener: l, sweeper: s.sweeper, tls: s.cfg.TLS,
		connsMax: connsLimit(s.cfg.ConnsMax), perAddressMax: s.cfg.ConnsPerAddressMax, trustedProxies: s.cfg.TrustedProxies}
	if err := s.http.Serve(swept); err != nil && !(s.draining.Load() && errors.Is(err, net.ErrClosed)) {
		return fmt.Errorf("cannot accept connections: %w", err)
	}
	return nil
}

// Drain ends the service: it closes the listener and answers what still comes on open connections with
// Connection: close. Connections that are idle when the context idle ends are closed; requests under way are
// answered. An error means that ctx ended before all were.
func (s *Server) Drain(ctx, idle context.Context, l net.Listener) error {
	s.draining.Store(true)
	l.Close()
	poll := time.NewTicker(drainPoll)
	defer poll.Stop()
	for s.sweeper.count() > 0 && idle.Err() == nil {
		select {
		case <-poll.C:
		case <-idle.Done():
		}
	}
	s.sweeper.closeIdle()
	if err := s.http.ShutdownWithContext(ctx); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("cannot drain: %d connections are still open: %w", s.sweeper.count(), err)
	}
	return nil
}

// handle is the entry of every request.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	defer func() {
		if fault := recover(); fault != nil { // it would end the process and with it every other request
			slog.Error("a request failed", "method", string(ctx.Method()), "path", string(ctx.Path()),
				"fault", fault, "stack", string(debug.Stack()))
			ctx.Response.Reset()
			reply(ctx, errInternal)
			ctx.SetConnectionClose()
		}
	}()
	if c, ok := ctx.Conn().(*connection); ok {
		if !c.serve() {
			badRequest(ctx, nil)
			return
		}
		if c.request.Close { // said on any of several lines; fasthttp goes by the last
			ctx.SetConnectionClose()
		}
	}
	s.route(ctx)
	if s.draining.Load() {
		ctx.SetConnectionClose()
	}
}

// badRequest answers a request that cannot be read, such as the few that framing lets pass and fasthttp does not.
func badRequest(ctx *fasthttp.RequestCtx, _ error) {
	reply(ctx, errBadRequest)
	ctx.SetConnectionClose()
}

// quietLogger takes what fasthttp has to say about single connections, such as resets: with a thousand
// clients it is noise.
type quietLogger struct{}

func (quietLogger) Printf(format string, args ...any) { slog.Debug(fmt.Sprintf(format, args...)) }
