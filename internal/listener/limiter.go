package listener

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// How long a connection may stay in each of its states. A limit holds to within TickInterval.
const (
	// until the first byte of the first request; includes the TLS handshake
	FirstByteTimeout = 10 * time.Second
	RequestTimeout   = 10 * time.Second // from the first byte of a request to its last
	WriteTimeout     = 10 * time.Second // for each part of a reply
	IdleTimeout      = 75 * time.Second // between requests; proxies commonly keep a connection for 60 s
	LingerTimeout    = 5 * time.Second  // for the rest of a request that is refused

	TickInterval = time.Second
)

// timeouts are the limits by state; 0 is no limit.
var timeouts = [states]time.Duration{
	Opening: FirstByteTimeout, Idle: IdleTimeout, Reading: RequestTimeout, Writing: WriteTimeout,
	Lingering: LingerTimeout,
}

// Limiter knows the open connections of its listeners. It refuses those over the limits of number and
// closes those that stay in one state for too long, such as a client that sends a request byte by byte. One
// look a second at all connections replaces deadlines for every request; scripts/bench/TUNING.md has what
// that saves.
type Limiter struct {
	cfg   Config
	ticks atomic.Int64 // since the start: a clock that costs a load

	mu        sync.Mutex
	conns     map[*Conn]struct{}
	addresses map[netip.Addr]int // connections of each address that is counted
}

// NewLimiter makes a Limiter without connections.
func NewLimiter(cfg Config) *Limiter {
	cfg.ConnsMax = connsLimit(cfg.ConnsMax)
	return &Limiter{cfg: cfg, conns: map[*Conn]struct{}{}, addresses: map[netip.Addr]int{}}
}

// Listen returns a listener that accepts from a socket within the limits. Several may share one Limiter.
func (l *Limiter) Listen(socket net.Listener) *Listener {
	return &Listener{Listener: socket, limiter: l}
}

// Run holds the connections to their times until ctx ends.
func (l *Limiter) Run(ctx context.Context) error {
	ticker := time.NewTicker(TickInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			l.Tick()
		case <-ctx.Done():
			return nil
		}
	}
}

// Tick moves the clock on by TickInterval and closes the connections that are over their time. Run calls it.

func (l *Limiter) Tick() {
	now := l.ticks.Add(1)
	l.closeWhere(func(state State, since int64) bool {
		return timeouts[state] > 0 && time.Duration(now-since)*TickInterval > timeouts[state]
	})
}

// Count returns the number of open connections.
func (l *Limiter) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

// CloseIdle closes the connections on which no request is under way: those that wait for one, never sent
// one, or were refused.
func (l *Limiter) CloseIdle() {
	l.closeWhere(func(state State, _ int64) bool {
		return state == Opening || state == Idle ||
			state == Lingering
	})
}

// closeWhere closes sockets; the goroutine that serves one then gets an error and ends. It closes below
// TLS: the farewell of TLS would wait for a client that does not read.
func (l *Limiter) closeWhere(condition func(state State, since int64) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		if condition(c.State()) {
			c.socket.Close()
		}
	}
}

// add takes a connection in unless the limit of all connections is reached (full) or that of its address
// (crowded).
func (l *Limiter) add(c *Conn) (full, crowded bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	full = l.cfg.ConnsMax > 0 && len(l.conns) >= l.cfg.ConnsMax
	crowded = c.address.IsValid() && l.addresses[c.address] >= l.cfg.ConnsPerAddressMax
	if full || crowded {
		return full, crowded
	}
	l.conns[c] = struct{}{}
	if c.address.IsValid() {
		l.addresses[c.address]++
	}
	return false, false
}

// remove forgets a connection that is being closed. A second Close changes nothing.
func (l *Limiter) remove(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, open := l.conns[c]; !open {
		return
	}
	delete(l.conns, c)
	if !c.address.IsValid() {
		return
	}
	if l.addresses[c.address]--; l.addresses[c.address] == 0 {
		delete(l.addresses, c.address)
	}
}
