package handlers

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"flashsale/internal/logpace"
	"flashsale/internal/rawio"
)

const (
	acceptRetry    = 20 * time.Millisecond // pause when the process is out of file descriptors
	filesSpared    = 64                    // descriptors that clients do not get: for Redis, logs, what the runtime has open
	refusalTimeout = time.Second           // for a line of refusal, which fits the empty buffer of a new socket
)

// refusal is all that a connection gets which is one too many.
var refusal = fmt.Appendf(nil, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"+
	"Retry-After: 1\r\nConnection: close\r\n\r\n%s", len(errUnavailable.body), errUnavailable.body)

// sweptListener makes every connection that it accepts one of the sweeper's, up to its limits.
type sweptListener struct {
	net.Listener
	sweeper        *sweeper
	tls            *tls.Config    // nil for plain HTTP
	connsMax       int            // at once; 0 is no limit
	perAddressMax  int            // at once of one client address; 0 is no limit
	trustedProxies []netip.Prefix // not counted by address: theirs are many clients' connections

	exhausted, full, crowded logpace.Pace
}

// Accept also outlasts a process that is out of descriptors or memory for more connections: the ones that are open go on,
// and a new one is accepted when another has ended. fasthttp would end the server.
func (l *sweptListener) Accept() (net.Conn, error) {
	for {
		socket, err := l.Listener.Accept()
		switch {
		case err == nil:
			if c := l.admit(socket); c != nil {
				return c, nil
			}
		case isExhausted(err):
			if l.exhausted.Due(time.Now()) > 0 {
				slog.Error("cannot accept more connections for now; raise the limit of open files (ulimit -n)", "error", err)
			}
			time.Sleep(acceptRetry)
		default:
			return nil, err
		}
	}
}

// connsLimit is how many connections there may be: most (0 for no limit), and never so many that none of the process's
// file descriptors would be left for a new connection to Redis.
func connsLimit(most int) int {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return most
	}
	room := max(int(min(files.Cur, math.MaxInt32))-filesSpared, 1)
	if most == 0 {
		return room
	}
	return min(most, room)
}

func isExhausted(err error) bool {
	for _, e := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// admit takes a connection in, or ends it at once and returns nil when a limit is reached. A TLS handshake is left to the
// connection's own goroutine and its first Read: a client that dawdles must not hold the others.
func (l *sweptListener) admit(socket net.Conn) net.Conn {
	c := &connection{Conn: rawio.Wrap(socket), socket: socket, sweeper: l.sweeper}
	if l.tls == nil {
		c.raw, _ = c.Conn.(*rawio.Conn)
	} else {
		c.Conn = tls.Server(c.Conn, l.tls)
	}
	if peer := addressOf(socket.RemoteAddr()); l.perAddressMax > 0 && !within(peer, l.trustedProxies) {
		c.address = subscriber(peer)
	}
	c.enter(opening)
	full, crowded := l.sweeper.add(c, l.connsMax, l.perAddressMax)
	if !full && !crowded {
		return c
	}
	if l.tls == nil { // with TLS there is no one yet who could be told
		_ = socket.SetWriteDeadline(time.Now().Add(refusalTimeout))
		_, _ = socket.Write(refusal)
	}
	socket.Close()
	if full {
		if n := l.full.Due(time.Now()); n > 0 {
			slog.Warn("connections are refused: all that -max-conns and the limit of open files (ulimit -n) allow this worker are open", "refused", n, "open", l.connsMax)
		}
	} else if n := l.crowded.Due(time.Now()); n > 0 {
		slog.Warn("connections are refused: their address has all that -max-conns-per-ip allows", "refused", n, "last_from", c.address)
	}
	return nil
}

// subscriber is what one client has of an address: all of IPv4, of IPv6 the network, in which it may choose any address.
func subscriber(a netip.Addr) netip.Addr {
	if !a.Is6() {
		return a
	}
	network, err := a.Prefix(subscriberBits)
	if err != nil {
		return a
	}
	return network.Addr()
}
