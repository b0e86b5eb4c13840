package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// idleMax is the most idle connections; each takes a file descriptor and, to one server, a port of its own.
const idleMax = 100_000

// idle are kept-alive connections on which nothing comes any more, as of buyers who wait for the sale to begin.
type idle []net.Conn

// openIdle opens the connections of -idle, spread over the servers, and sends one request for /healthz on each: the server has
// then done for it what it does for a buyer. Any reply will do. A server may close them when they idle too long for its taste.
func openIdle(ctx context.Context, opt options) (idle, error) {
	var open idle
	var reader replyReader
	for i := range opt.idle {
		server := opt.servers[i%len(opt.servers)]
		err := func() error {
			conn, err := dial(ctx, net.Dialer{Timeout: opt.timeout, KeepAlive: -1}, server, opt.tls)
			if err != nil {
				return err
			}
			open = append(open, conn)
			if err := conn.SetDeadline(time.Now().Add(opt.timeout)); err != nil {
				return err
			}
			if _, err := conn.Write(new(style).appendRequest(nil, "GET", "/healthz", server, "", "", nil)); err != nil {
				return err
			}
			_, err = reader.read(conn)
			return err
		}()
		if err != nil {
			open.close()
			return nil, fmt.Errorf("%w: cannot open idle connection %d of %d (ulimit -n limits them): %w",
				errUnreachable, i+1, opt.idle, err)
		}
	}
	return open, nil
}

// held counts the connections that the servers have not closed.
func (open idle) held() int {
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
			if _, _, err := unix.Recvfrom(int(descriptor), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT); err == unix.EAGAIN {
				held++
			}
		})
	}
	return held
}

func (open idle) close() {
	for _, conn := range open {
		conn.Close()
	}
}
