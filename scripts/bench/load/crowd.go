package load

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"flashsale/scripts/bench/sale"
)

// crowdBuffer is the buffer of a connection: a crowd only reads so that the server can go on sending.
const crowdBuffer = 512

// Crowd are connections that stay open while a load runs and send one request each.
type Crowd struct {
	conns []net.Conn
	held  atomic.Int64
}

// OpenIdle opens n kept-alive connections, spread over the servers, as of buyers who wait for the sale to
// begin. A request for /healthz makes the server treat each as a buyer; any reply is fine.
func OpenIdle(ctx context.Context, opt Options, n int) (*Crowd, error) {
	return openCrowd(ctx, opt, n, "/healthz", "HTTP/1.1 ")
}

// OpenViewers opens n connections of GET /live, spread over the servers.
func OpenViewers(ctx context.Context, opt Options, n int) (*Crowd, error) {
	return openCrowd(ctx, opt, n, "/live", "HTTP/1.1 200 ")
}

// openCrowd returns when each connection has the beginning of its reply.
func openCrowd(ctx context.Context, opt Options, n int, path, reply string) (*Crowd, error) {
	c := &Crowd{}
	failed := func(i int, err error) (*Crowd, error) {
		c.Close()
		return nil, fmt.Errorf("%w: cannot open connection %d of %d for %s (ulimit -n, -live-viewers and "+
			"-max-conns limit them): %w", sale.ErrUnreachable, i+1, n, path, err)
	}
	for i := range n {
		conn, err := dial(ctx, net.Dialer{Timeout: opt.Timeout, KeepAlive: -1}, opt.Servers[i%len(opt.Servers)],
			opt.TLS)
		if err == nil {
			c.conns = append(c.conns, conn)
			_, err = io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: sale\r\n\r\n")
		}
		if err != nil {
			return failed(i, err)
		}
	}
	for i, conn := range c.conns {
		if err := readBeginning(conn, opt.Timeout, path, reply); err != nil {
			return failed(i, err)
		}
	}
	c.held.Store(int64(n))
	for _, conn := range c.conns {
		go func() {
			defer c.held.Add(-1)
			for buffer := make([]byte, crowdBuffer); ; {
				if _, err := conn.Read(buffer); err != nil {
					return
				}
			}
		}()
	}
	return c, nil
}

func readBeginning(conn net.Conn, limit time.Duration, path, want string) error {
	if err := conn.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil {
		return err
	}
	if string(got) != want {
		return fmt.Errorf("GET %s is answered with %q", path, strings.TrimSpace(string(got)))
	}
	return conn.SetReadDeadline(time.Time{})
}

// Held counts the connections that are still open, 0 for a nil crowd.
func (c *Crowd) Held() int {
	if c == nil {
		return 0
	}
	return int(c.held.Load())
}

// Close resets the connections: after an orderly end their ports would stay taken for a minute.
func (c *Crowd) Close() {
	if c == nil {
		return
	}
	for _, conn := range c.conns {
		if plain, ok := conn.(*net.TCPConn); ok {
			_ = plain.SetLinger(0) // without it Close still closes
		}
		conn.Close()
	}
}
