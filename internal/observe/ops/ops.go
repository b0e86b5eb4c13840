// Package ops serves the metrics of a server to Prometheus. It runs in the supervisor, on an address of its
// own, and is off by default.
//
// It reads the figures that the workers count in shared memory, and asks Redis about the sale over a
// connection of its own with a short limit: no scrape waits for a worker, and no scrape hangs while Redis is
// away. The address must be private: metrics tell how a sale goes.
package ops

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"flashsale/internal/observe/figures"
	"flashsale/internal/serve/listener"
	"flashsale/redisx"
)

const (
	connsMax   = 64 // of all clients
	scrapesMax = 4  // at once; more get 503

	// RedisTimeout is the longest time that a scrape waits for a question to Redis.
	RedisTimeout = 500 * time.Millisecond
	stopLimit    = time.Second // for scrapes under way
)

// Config is what a Server needs.
type Config struct {
	Figures *figures.Memory
	Version string
	Started time.Time
	Watch   *redisx.Sale // without users, with RedisTimeout; Server.Run runs it
	Pieces  int64        // of all foods at the beginning of the sale
}

// A Room sets the metrics of a room that no worker counts. It is called in each scrape, so it must be safe
// for concurrent use.
type Room func(*Scrape)

// Server serves the metrics of one server.
type Server struct {
	cfg     atomic.Pointer[Config]
	rooms   []Room
	follow  chan *redisx.Sale // that Run is to connect
	socket  net.Listener
	limiter *listener.Limiter
	http    *http.Server
}

// Listen opens the address of a Server.
func Listen(address string) (net.Listener, error) {
	network := "tcp"
	if host, _, err := net.SplitHostPort(address); err == nil && net.ParseIP(host).To4() != nil {
		network = "tcp4" // Go takes 0.0.0.0 for all addresses of IPv6 too
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, fmt.Errorf("cannot serve metrics (-ops): %w", err)
	}
	return l, nil
}

// New makes a Server on a listener, which it closes in the end.
func New(cfg Config, l net.Listener, rooms ...Room) *Server {
	s := &Server{rooms: rooms, follow: make(chan *redisx.Sale, 1), socket: l}
	s.cfg.Store(&cfg)
	s.limiter = listener.NewLimiter(listener.Config{ConnsMax: connsMax,
		Refusal: []byte("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")})
	s.http = listener.NewHTTPServer(s.handler())
	return s
}

func (s *Server) handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCollector(s.cfg.Load, s.rooms))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: scrapesMax, ErrorHandling: promhttp.ContinueOnError, DisableCompression: true,
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelError)}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"status":"alive"}`))
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "flashsale, sale %s: see /metrics and /healthz\n", s.cfg.Load().Watch.ID())
	})
	return mux
}

// Address is the host:port that it listens on.
func (s *Server) Address() string { return s.socket.Addr().String() }

// Follow makes the metrics show the next sale: watch and pieces are as in the Config. One goroutine calls
// it.
func (s *Server) Follow(watch *redisx.Sale, pieces int64) {
	s.follow <- watch
	next := *s.cfg.Load()
	next.Watch, next.Pieces = watch, pieces
	s.cfg.Store(&next)
}

// connect keeps the connection of the current sale until ctx ends. The connection of the sale before stays
// as long as a scrape may need it.
func (s *Server) connect(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for watch := s.cfg.Load().Watch; ; {
		this, disconnect := context.WithCancel(ctx)
		defer disconnect()
		running.Go(func() { _ = watch.Run(this) }) // it returns nil
		select {
		case watch = <-s.follow:
			time.AfterFunc(2*RedisTimeout, disconnect)
		case <-ctx.Done():
			return
		}
	}
}

// Run serves until ctx ends, and returns nil then.
func (s *Server) Run(ctx context.Context) error {
	var background sync.WaitGroup
	defer background.Wait()
	connected, disconnect := context.WithCancel(context.WithoutCancel(ctx))
	defer disconnect()
	background.Go(func() { s.connect(connected) })
	background.Go(func() { _ = s.limiter.Run(connected) }) // it returns nil
	ended := make(chan error, 1)
	go func() { ended <- s.http.Serve(s.limiter.Listen(s.socket)) }()
	select {
	case err := <-ended:
		return fmt.Errorf("cannot serve metrics: %w", err)
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	if err := s.http.Shutdown(limit); err != nil {
		s.http.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
