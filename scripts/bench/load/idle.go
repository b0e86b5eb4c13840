package load

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"flashsale/scripts/bench/sale"
)

// Idle are kept-alive connections on which nothing comes any more, as of buyers who wait for the sale to
// begin.
type Idle []net.Conn

// IdleReport is what became of the idle connections, or of the viewers.
type IdleReport struct {
	Opened int `json:"opened"`
	Held   int `json:"held"` // still open after the load
}

// OpenIdle opens the connections of -idle, spread over the servers, and sends one request for /healthz on
// each: the server has then done for it what it does for a buyer. Any reply will do. A server may close them
// when they have been idle for too long.
func OpenIdle(ctx context.Context, opt Options) (Idle, error) {
	var open Idle
	var reader replyReader
	for i := range opt.Idle {
		server := opt.Servers[i%len(opt.Servers)]
		err := func() error {
			conn, err := dial(ctx, net.Dialer{Timeout: opt.Timeout, KeepAlive: -1}, server, opt.TLS)
			if err != nil {
				return err
			}
			open = append(open, conn)
			if err := conn.SetDeadline(time.Now().Add(opt.Timeout)); err != nil {
				return err
			}
			if _, err := conn.Write(new(Style).appendRequest(nil, "GET", "/healthz", server, "", "",
				nil)); err != nil {
				return err
			}
			_, err = reader.read(conn)
			return err
		}()
		if err != nil {
			open.Close()
			return nil, fmt.Errorf("%w: cannot open idle connection %d of %d (ulimit -n limits them): %w",
				sale.ErrUnreachable, i+1, opt.Idle, err)
		}
	}
	return open, nil
}

// Held counts the connections that the servers have not closed.
func (open Idle) Held() int {
	held := 0
	for _, conn := range open {
		if encrypted, ok := conn.(*tls.Conn); ok {
			conn = encrypted.NetConn()
		}
		raw, err := conn.(*net.TCPConn).SyscallConn()
		if err != nil {
			continue // closed on this side, which close does only when all is over
		}
		_ = raw.Control(func(descriptor uintptr) {
			// Nothing to read yet means open; the end of the stream reads as no bytes.
			if _, _, err := unix.Recvfrom(int(descriptor), make([]byte, 1),
				unix.MSG_PEEK|unix.MSG_DONTWAIT); err == unix.EAGAIN {
				held++
			}
		})
	}
	return held
}

// Close ends them, with a reset: else thousands of ports of this machine would be taken for a minute more.
func (open Idle) Close() {
	for _, conn := range open {
		if encrypted, ok := conn.(*tls.Conn); ok {
			conn = encrypted.NetConn()
		}
		_ = conn.(*net.TCPConn).SetLinger(0) // it is closed all the same
		conn.Close()
	}
}
