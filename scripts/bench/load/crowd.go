package load

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"flashsale/scripts/bench/sale"
)

const (
	// CrowdMax is the limit of connections of a crowd; each takes a file descriptor.
	CrowdMax   = 100_000
	crowdPause = 2 * time.Second // between two rounds over all connections
)

// Crowd are connections that stay open while a load runs and send at most one request each. Every crowdPause
// the kernel drops the bytes received: reading them would cost more than sending them.
type Crowd struct {
	conns  []net.Conn
	buffer [64 << 10]byte
	stop   context.CancelFunc
	over   sync.WaitGroup

	mu   sync.Mutex
	gone map[net.Conn]bool
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
	ctx, stop := context.WithCancel(ctx)
	c := &Crowd{stop: stop, gone: map[net.Conn]bool{}}
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
	c.over.Go(func() {
		tick := time.NewTicker(crowdPause)
		defer tick.Stop()
		for ctx.Err() == nil {
			c.Held()
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
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

// Held drops the bytes received and counts the connections that are still open, 0 for a nil crowd.
func (c *Crowd) Held() int {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		if !c.gone[conn] && !c.drop(conn) {
			c.gone[conn] = true
		}
	}
	return len(c.conns) - len(c.gone)
}

// drop reports whether a connection is still open.
func (c *Crowd) drop(conn net.Conn) (open bool) {
	raw, err := plain(conn).SyscallConn()
	if err != nil {
		return false
	}
	failed := raw.Control(func(fd uintptr) {
		for {
			n, _, err := unix.Recvfrom(int(fd), c.buffer[:], unix.MSG_TRUNC|unix.MSG_DONTWAIT)
			if n <= 0 {
				open = errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR)
				return
			}
		}
	})
	return open && failed == nil
}

// plain is the connection below TLS.
func plain(conn net.Conn) *net.TCPConn {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	return conn.(*net.TCPConn)
}

// Close resets the connections: after an orderly end their ports would stay taken for a minute.
func (c *Crowd) Close() {
	if c == nil {
		return
	}
	c.stop()
	c.over.Wait()
	for _, conn := range c.conns {
		_ = plain(conn).SetLinger(0) // without it Close still closes
		conn.Close()
	}
}
