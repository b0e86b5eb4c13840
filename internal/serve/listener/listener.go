// Package listener accepts the connections of clients and holds them to limits: of their number (in all and
// of one address), and of the time that they may take to send a request, to read a reply and to stay idle.
// It speaks TLS where a certificate is given, and it finds the client's address behind proxies. Every port
// of the server uses it, so that all of them have the same protection.
//
// It knows no HTTP: what it hands out are plain net.Conn values. The server on top tells a Conn when a
// request is served and when its reply is sent, by EnterServing and EnterIdle; NewHTTPServer makes a
// net/http server that does. A connection costs no deadline and no timer for each request: the Limiter
// looks at all of them once a second.
package listener

import (
	"crypto/tls"
	"errors"
	"math"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"flashsale/internal/observe/figures"
)

// AcceptRetry is the pause before the next accept when the process is out of file descriptors.
const AcceptRetry = 20 * time.Millisecond

const (
	filesSpared    = 64          // descriptors kept for Redis, logs and what the runtime has open
	refusalTimeout = time.Second // for the refusal, which fits the empty buffer of a new socket

	// SendBuffer is how many bytes of replies the kernel keeps for a client that does not read them. It takes
	// twice as much for its own records. Left alone it keeps 4 MB.
	SendBuffer = 64 << 10
)

// BoundSends bounds what the kernel keeps of replies that a client does not read, for each connection that a
// listener accepts from now on. A listener that is no socket of the kernel has nothing to bound.
func BoundSends(l net.Listener) error {
	socket, ok := l.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	failed := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, SendBuffer)
	})
	return errors.Join(failed, err)
}

// Config has the limits of a port and its TLS.
type Config struct {
	TLS                *tls.Config    // nil for plain text
	ConnsMax           int            // connections at once; 0 is as many as there are file descriptors
	ConnsPerAddressMax int            // connections at once of one client address; 0 is no limit
	TrustedProxies     []netip.Prefix // not counted by address: they bring the connections of many clients
	// sent to a connection over a limit before it is closed; with TLS nothing is
	Refusal []byte
	Figures *figures.Worker // where connections are counted; nil counts where nobody reads
}

// Listener accepts the connections of one socket. Its Limiter holds them to the limits.
type Listener struct {
	net.Listener
	limiter *Limiter
}

// Accept returns the next connection within the limits, a *Conn. When the process is out of descriptors or
// memory it waits until another connection has ended: an error would end the server.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		socket, err := l.Listener.Accept()
		switch {
		case err == nil:
			if c := l.admit(socket); c != nil {
				return c, nil
			}
		case l.limiter.Exhausted(err):
			time.Sleep(AcceptRetry)
		default:
			return nil, err
		}
	}
}

// connsLimit returns the most connections that the process has file descriptors for, and that most allows
// (0 for no limit). A few descriptors are kept, so that a new connection to Redis is always possible.
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

// admit takes a connection in. Over a limit it refuses the connection and returns nil. The TLS handshake is
// left to the first Read, in the connection's own goroutine: a slow client must not hold up the others.
func (l *Listener) admit(socket net.Conn) net.Conn {
	cfg := &l.limiter.cfg
	slot, ok := l.limiter.Admit(AddressOf(socket.RemoteAddr()))
	if !ok {
		if cfg.TLS == nil { // before the handshake a client cannot read anything
			_ = socket.SetWriteDeadline(time.Now().Add(refusalTimeout))
			_, _ = socket.Write(cfg.Refusal)
		}
		socket.Close()
		return nil
	}
	c := l.limiter.Hold(socket, slot)
	if cfg.TLS != nil {
		c.Conn, c.raw = tls.Server(c.Conn, cfg.TLS), nil
	}
	return c
}
