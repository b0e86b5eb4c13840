// Package listener accepts the connections of clients and limits them: their number (in all and of one
// address), and the time that they may take to send a request, to read a reply and to stay idle. It speaks
// TLS if there is a certificate, and finds the client's address behind proxies. Every port of the server
// uses it.
//
// It knows no HTTP: it returns plain net.Conn values. The server on top tells a Conn when a request is
// served and when its reply is sent (EnterServing, EnterIdle); NewHTTPServer makes a net/http server that
// does so. Requests need no deadlines and no timers: the Limiter checks all connections once a second.
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
	filesSpared    = 64          // descriptors kept for Redis, logs and the runtime
	refusalTimeout = time.Second // the refusal fits into the empty buffer of a new socket

	// SendBuffer is how many bytes of replies the kernel keeps for a client that does not read. The kernel
	// doubles it for its own records; its default is 4 MB.
	SendBuffer = 64 << 10
)

// BoundSends limits the kernel's send buffer of each connection that a listener accepts from now on. It does
// nothing for a listener that is no socket of the kernel.
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
	ConnsMax           int            // connections at once; 0: as many as there are file descriptors
	ConnsPerAddressMax int            // connections at once of one client address; 0: see ShareOf
	TrustedProxies     []netip.Prefix // not counted by address: each has the connections of many clients
	// Sent to a connection over a limit before it is closed; with TLS nothing is sent.
	Refusal []byte
	Figures *figures.Worker // where connections are counted; nil: the counts are not published
}

// Listener accepts the connections of one socket, within the limits of its Limiter.
type Listener struct {
	net.Listener
	limiter *Limiter
}

// Accept returns the next connection within the limits, a *Conn. If the process is out of descriptors or
// memory, it waits for the end of another connection: an error would end the server.
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

// Places returns how many connections the process has file descriptors for, at most most (0: no limit).
// It keeps a few descriptors, so that a new connection to Redis is always possible.
func Places(most int) int {
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

// admit takes a connection in, or refuses it over a limit and returns nil. The TLS handshake happens in the
// first Read, in the connection's own goroutine, so that a slow client does not hold up the others.
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
		c.Conn = tls.Server(c.Conn, cfg.TLS)
	}
	return c
}
