package listener

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/logpace"
	"flashsale/internal/observe/figures"
	"flashsale/internal/serve/rawio"
)

// Time limits of a connection's states, to within TickInterval.
const (
	// until the first byte of the first request; includes the TLS handshake
	FirstByteTimeout = 10 * time.Second
	RequestTimeout   = 10 * time.Second // from the first byte of a request to its last
	WriteTimeout     = 10 * time.Second // for each part of a reply
	IdleTimeout      = 75 * time.Second // between requests; proxies commonly keep a connection for 60 s
	LingerTimeout    = 5 * time.Second  // for the rest of a refused request

	TickInterval = time.Second
)

// timeouts are the limits by state; 0 means no limit.
var timeouts = [states]time.Duration{
	Opening: FirstByteTimeout, Idle: IdleTimeout, Reading: RequestTimeout, Writing: WriteTimeout,
	Lingering: LingerTimeout,
}

// Limiter knows the open connections of its listeners. It refuses connections over the limits of number, and
// closes those that stay in one state for too long, for example because the client sends byte by byte. It
// checks all connections once a second, instead of a deadline for every request; scripts/bench/TUNING.md has
// the gain. The connections of an event loop have the same clock and limits; the loop closes them (AtTick).
type Limiter struct {
	cfg Config
	// Programs of this machine, a proxy perhaps, count as one address only where a number is given.
	countsLocal bool

	ticks  atomic.Int64 // since the start: a clock that is cheap to read
	atTick []func()

	mu        sync.Mutex
	count     int // slots taken
	conns     map[*Conn]struct{}
	addresses map[netip.Addr]int // connections of each address that is counted

	full, crowded, exhausted, broken logpace.Pace
}

// Slot is the room of one connection within the limits of number, from Admit to Leave.
type Slot struct {
	address netip.Addr // counted under this address; zero: not counted by address
}

// NewLimiter makes a Limiter without connections.
func NewLimiter(cfg Config) *Limiter {
	cfg.ConnsMax = Places(cfg.ConnsMax)
	named := cfg.ConnsPerAddressMax > 0
	if !named {
		cfg.ConnsPerAddressMax = ShareOf(cfg.ConnsMax)
	}
	if cfg.Figures == nil {
		cfg.Figures = figures.Private()
	}
	cfg.Figures.ConnectionsMax.Set(int64(cfg.ConnsMax))
	return &Limiter{cfg: cfg, countsLocal: named, conns: map[*Conn]struct{}{}, addresses: map[netip.Addr]int{}}
}

// Listen returns a listener that accepts from a socket within the limits. Listeners may share a Limiter.
func (l *Limiter) Listen(socket net.Listener) *Listener {
	return &Listener{Listener: socket, limiter: l}
}

// Run enforces the time limits until ctx ends.
func (l *Limiter) Run(ctx context.Context) error {
	background.Every(ctx, TickInterval, l.Tick)
	return nil
}

// Tick advances the clock by TickInterval and closes the connections that are over their time limit. Run
// calls it. A pause of the whole process skips ticks, so that clients do not pay for it.
func (l *Limiter) Tick() {
	l.ticks.Add(1)
	l.closeWhere(l.Overdue)
	for _, f := range l.atTick {
		f()
	}
}

// AtTick makes f run at each tick, for connections that have a slot but are not held by the Limiter. It must
// be called before Run.
func (l *Limiter) AtTick(f func()) { l.atTick = append(l.atTick, f) }

// Now returns the current tick.
func (l *Limiter) Now() int64 { return l.ticks.Load() }

// Overdue reports whether a connection that entered its state at tick since is over its time limit.
func (l *Limiter) Overdue(state State, since int64) bool {
	return timeouts[state] > 0 && time.Duration(l.Now()-since)*TickInterval > timeouts[state]
}

// Count returns the number of open connections: of taken slots.
func (l *Limiter) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// CloseIdle closes the connections without a request under way: idle, before their first request, or
// refused.
func (l *Limiter) CloseIdle() {
	l.closeWhere(func(state State, _ int64) bool {
		return state == Opening || state == Idle || state == Lingering
	})
}

// closeWhere closes sockets; the goroutine of a connection then gets an error and ends. It closes below TLS:
// a TLS farewell would wait for a client that does not read.
func (l *Limiter) closeWhere(condition func(state State, since int64) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		if condition(c.State()) {
			c.socket.Close()
		}
	}
}

// Admit takes a slot for a connection from an address. Over a limit (all connections, or those of the
// address) it logs that and returns false: the caller sends Refusal and closes the connection.
func (l *Limiter) Admit(peer netip.Addr) (p Slot, ok bool) {
	if (l.countsLocal || !peer.Unmap().IsLoopback()) && !Within(peer, l.cfg.TrustedProxies) {
		p.address = Subscriber(peer)
	}
	l.mu.Lock()
	full := l.cfg.ConnsMax > 0 && l.count >= l.cfg.ConnsMax
	crowded := p.address.IsValid() && l.addresses[p.address] >= l.cfg.ConnsPerAddressMax
	ok = !full && !crowded
	if ok {
		l.take(1)
		if p.address.IsValid() {
			l.addresses[p.address]++
		}
	}
	l.mu.Unlock()
	if !ok {
		l.cfg.Figures.ConnectionsRefused.Inc()
		l.logRefusal(full, p.address)
	}
	return p, ok
}

// take takes n slots; a negative n gives slots back.
func (l *Limiter) take(n int) {
	l.count += n
	l.cfg.Figures.Connections.Set(int64(l.count))
}

// Leave gives a slot back. The zero Slot has no address.
func (l *Limiter) Leave(p Slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.take(-1)
	if !p.address.IsValid() {
		return
	}
	if l.addresses[p.address]--; l.addresses[p.address] == 0 {
		delete(l.addresses, p.address)
	}
}

// Refusal is sent to a connection without a slot before it is closed.
func (l *Limiter) Refusal() []byte { return l.cfg.Refusal }

func (l *Limiter) logRefusal(full bool, from netip.Addr) {
	if full {
		if n := l.full.Due(time.Now()); n > 0 {
			slog.Warn("connections are refused: all that -max-conns and the limit of open files "+
				"(ulimit -n) allow this worker are open", "refused", n, "open", l.cfg.ConnsMax)
		}
	} else if n := l.crowded.Due(time.Now()); n > 0 {
		slog.Warn("connections are refused: their address has all that one may have (-max-conns-per-ip)",
			"refused", n, "last_from", from)
	}
}

// Exhausted reports whether an accept failed because the process or the machine is out of descriptors or
// memory, and logs that. The caller tries again after AcceptRetry: another connection may have ended by
// then.
func (l *Limiter) Exhausted(err error) bool {
	lacks := []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM}
	if !slices.ContainsFunc(lacks, func(lack syscall.Errno) bool { return errors.Is(err, lack) }) {
		return false
	}
	if l.exhausted.Due(time.Now()) > 0 {
		slog.Error("cannot accept more connections for now; raise the limit of open files (ulimit -n)",
			"error", err)
	}
	return true
}

// AcceptFailed logs the error of an accept. The caller tries again after AcceptRetry.
func (l *Limiter) AcceptFailed(err error) {
	if !l.Exhausted(err) && l.broken.Due(time.Now()) > 0 {
		slog.Error("cannot accept connections; it is tried again", "every", AcceptRetry, "error", err)
	}
}

// Hold enforces the time limits of a connection that already has a slot, such as one accepted by the event
// loop, until Conn.LetGo or Conn.Close.
func (l *Limiter) Hold(socket net.Conn, p Slot) *Conn {
	c := &Conn{Conn: rawio.Wrap(socket), socket: socket, limiter: l, slot: p}
	c.raw, _ = c.Conn.(*rawio.Conn)
	c.enter(Opening)
	l.add(c)
	return c
}

func (l *Limiter) add(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c] = struct{}{}
}

// remove forgets a connection. It returns false if the connection was not there: a second Close is harmless.
func (l *Limiter) remove(c *Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, open := l.conns[c]
	delete(l.conns, c)
	return open
}
