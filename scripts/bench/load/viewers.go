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
	viewerRequest = "GET /live HTTP/1.1\r\nHost: sale\r\n\r\n"
	viewerReply   = "HTTP/1.1 200 "
	viewerPause   = 2 * time.Second // between two looks at all viewers
)

// Viewers are connections on which a server sends events of the sale while the load runs. What comes is
// dropped in the kernel, every viewerPause: to read it would cost the machine more than to send it.
type Viewers struct {
	conns  []net.Conn
	buffer [64 << 10]byte
	stop   context.CancelFunc
	over   sync.WaitGroup

	mu   sync.Mutex
	gone map[net.Conn]bool
}

// OpenViewers opens the connections of -viewers, spread over the servers. It returns when events come on
// each.
func OpenViewers(ctx context.Context, opt Options) (*Viewers, error) {
	ctx, stop := context.WithCancel(ctx)
	v := &Viewers{stop: stop, gone: map[net.Conn]bool{}}
	for i := range opt.Viewers {
		conn, err := dial(ctx, net.Dialer{Timeout: opt.Timeout, KeepAlive: -1}, opt.Servers[i%len(opt.Servers)],
			opt.TLS)
		if err == nil {
			v.conns = append(v.conns, conn)
			_, err = io.WriteString(conn, viewerRequest)
		}
		if err != nil {
			v.Close()
			return nil, v.failed(i, opt.Viewers, err)
		}
	}
	for i, conn := range v.conns {
		if err := readViewer(conn, opt.Timeout); err != nil {
			v.Close()
			return nil, v.failed(i, opt.Viewers, err)
		}
	}
	v.over.Go(func() { v.read(ctx) })
	return v, nil
}

func (v *Viewers) failed(i, all int, err error) error {
	return fmt.Errorf("%w: cannot open viewer %d of %d (ulimit -n, -live-viewers and -max-conns limit "+
		"them): %w", sale.ErrUnreachable, i+1, all, err)
}

// readViewer reads the beginning of a reply.
func readViewer(conn net.Conn, limit time.Duration) error {
	if err := conn.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	var begin [len(viewerReply)]byte
	if _, err := io.ReadFull(conn, begin[:]); err != nil {
		return err
	}
	if string(begin[:]) != viewerReply {
		return fmt.Errorf("GET /live is answered with %q", strings.TrimSpace(string(begin[:])))
	}
	return conn.SetReadDeadline(time.Time{})
}

func (v *Viewers) read(ctx context.Context) {
	tick := time.NewTicker(viewerPause)
	defer tick.Stop()
	for ctx.Err() == nil {
		v.look()
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// look drops what has come, and counts the connections that the servers have not closed.
func (v *Viewers) look() (held int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, conn := range v.conns {
		if !v.gone[conn] && !v.drop(conn) {
			v.gone[conn] = true
		}
	}
	return len(v.conns) - len(v.gone)
}

// drop reports whether a connection is still open.
func (v *Viewers) drop(conn net.Conn) (open bool) {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return false
	}
	failed := raw.Control(func(fd uintptr) {
		for {
			n, _, err := unix.Recvfrom(int(fd), v.buffer[:], unix.MSG_TRUNC|unix.MSG_DONTWAIT)
			if n <= 0 {
				open = errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR)
				return
			}
		}
	})
	return open && failed == nil
}

// Held counts the viewers that the servers have not dropped.
func (v *Viewers) Held() int {
	if v == nil {
		return 0
	}
	return v.look()
}

// Close ends them.
func (v *Viewers) Close() {
	if v == nil {
		return
	}
	v.stop()
	v.over.Wait()
	Idle(v.conns).Close()
}
