package push

import (
	"context"
	"encoding/base64"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/centrifugal/centrifuge"

	"flashsale/internal/serve/listener"
)

// Path is where clients connect: that of Centrifugo.
const Path = "/connection/websocket"

// handshakeRate is how many connections a second this server takes; the others get 503 and come again. All
// clients of a server that has ended come back at once.
const handshakeRate = 2000

// drainStep is the pause between two groups of connections that are closed at a stop.
const drainStep = 50 * time.Millisecond

// gate admits handshakes at a rate. A quarter of it is not for the network that takes the rest.
type gate struct {
	cfg  *Config
	rate float64

	mu     sync.Mutex
	tokens float64
	filled time.Time
	second time.Time          // when the counting began
	of     map[netip.Addr]int // handshakes since then, by network
}

func newGate(cfg *Config) gate {
	rate := handshakeRate
	if cfg.Rate > 0 {
		rate = cfg.Rate
	}
	return gate{cfg: cfg, rate: float64(rate), tokens: float64(rate), filled: cfg.Now(),
		of: map[netip.Addr]int{}}
}

// admits takes one handshake of this second's share, if some is left.
func (g *gate) admits(r *http.Request) bool {
	network := g.networkOf(r)
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.cfg.Now()
	g.tokens = min(g.rate, g.tokens+g.rate*now.Sub(g.filled).Seconds())
	g.filled = now
	if now.Sub(g.second) >= time.Second {
		g.second = now
		clear(g.of)
	}
	if g.tokens < 1 || network.IsValid() && float64(g.of[network]) >= max(g.rate*3/4, 1) {
		return false
	}
	g.tokens--
	g.of[network]++
	return true
}

// networkOf is where a client is, the zero Addr for a proxy that does not tell.
func (g *gate) networkOf(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	forwarded := strings.Join(r.Header.Values("X-Forwarded-For"), ",")
	client := listener.ClientAddress(peer.Addr().Unmap().WithZone(""), forwarded, g.cfg.TrustedProxies)
	if listener.Within(client, g.cfg.TrustedProxies) {
		return netip.Addr{}
	}
	return listener.Subscriber(client)
}

// Handler answers the requests of the port.
func (s *Server) Handler() http.Handler {
	socket := centrifuge.NewWebsocketHandler(s.node, centrifuge.WebsocketConfig{
		CheckOrigin:      s.checkOrigin,
		MessageSizeLimit: frameMax,
		WriteTimeout:     writeTimeout,
		PingPongConfig:   centrifuge.PingPongConfig{PingInterval: pingInterval, PongTimeout: pongTimeout},
		// An idle connection costs the least memory so; the README has the figures.
		ReadBufferSize: readBuffer, UseWriteBufferPool: true, ProcessCommandsOffReadLoop: true,
	})
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Path, func(w http.ResponseWriter, r *http.Request) {
		switch { // before the rate: what opens no websocket must not take the share of those that do
		case !isHandshake(r):
			http.Error(w, "this is for websockets", http.StatusBadRequest)
			return
		case !s.checkOrigin(r):
			http.Error(w, "the page is of another origin", http.StatusForbidden)
			return
		case !s.Following() || !s.gate.admits(r):
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many connections at this moment", http.StatusServiceUnavailable)
			return
		}
		socket.ServeHTTP(w, r)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close") // who opens no websocket holds no place
		mux.ServeHTTP(w, r)
	})
}

// isHandshake reports whether a request asks for a websocket as RFC 6455 wants it.
func isHandshake(r *http.Request) bool {
	connection := strings.ToLower(strings.Join(r.Header.Values("Connection"), ","))
	key, err := base64.StdEncoding.DecodeString(r.Header.Get("Sec-WebSocket-Key"))
	return strings.Contains(connection, "upgrade") && strings.EqualFold(r.Header.Get("Upgrade"), "websocket") &&
		r.Header.Get("Sec-WebSocket-Version") == "13" && err == nil && len(key) == 16
}

// readBuffer is for the frames of a client, in bytes: they are small.
const readBuffer = 512

// checkOrigin lets programs in, the page of the sale on this host, and the pages of -push-origins.
func (s *Server) checkOrigin(r *http.Request) bool {
	text := strings.ToLower(r.Header.Get("Origin"))
	if text == "" {
		return true
	}
	origin, err := url.Parse(text)
	if err != nil || origin.Host == "" {
		return false
	}
	if slices.Contains(s.cfg.Origins, text) {
		return true
	}
	host := strings.ToLower(r.Host)
	return origin.Host == host || origin.Host == net.JoinHostPort(hostOf(host), s.cfg.PagePort) ||
		origin.Port() == "" && origin.Hostname() == hostOf(host) // both behind a proxy
}

// hostOf is a host without the port.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}

// Drain closes all connections, spread over the time until end, so that the clients do not all come back at
// once, and then stops. The caller has closed the listener.
func (s *Server) Drain(end time.Time) error {
	left := s.node.Hub().Connections()
	steps := max(int(time.Until(end)/drainStep), 1)
	group := (len(left) + steps - 1) / steps
	n := 0
	for _, client := range left {
		client.Disconnect(centrifuge.DisconnectShutdown)
		if n++; n%max(group, 1) == 0 && n < len(left) {
			time.Sleep(min(drainStep, max(time.Until(end), 0)))
		}
	}
	if n > 0 {
		slog.Info("the push connections are closed", "connections", n)
	}
	ctx, cancel := context.WithDeadline(context.Background(), end.Add(time.Second))
	defer cancel()
	return s.node.Shutdown(ctx)
}
