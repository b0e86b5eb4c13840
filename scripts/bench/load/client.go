package load

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// errConnect is a connection that could not be opened, TLS handshake included.
var errConnect = errors.New("cannot connect")

// Traffic counts what went over a buyer's connections.
type Traffic struct {
	Connections int64 `json:"connections"` // opened
	// among them those in place of one that the server had closed while idle
	Reconnects    int64 `json:"reconnects"`
	BytesSent     int64 `json:"bytes_sent"`     // HTTP bytes
	BytesReceived int64 `json:"bytes_received"` // HTTP bytes
}

func (t *Traffic) add(other Traffic) {
	t.Connections += other.Connections
	t.Reconnects += other.Reconnects
	t.BytesSent += other.BytesSent
	t.BytesReceived += other.BytesReceived
}

// client is one buyer's HTTP client: at most one connection per server, one request at a time. Writing and
// reading the connection directly leaves the CPU that net/http would take to the servers on the same machine
// (TUNING.md).
type client struct {
	servers []string    // host:port
	tls     *tls.Config // nil = plain HTTP
	conns   []net.Conn  // by server; nil = not connected
	reader  replyReader
	timeout time.Duration // per request, dialling included
	traffic Traffic
}

func newClient(servers []string, config *tls.Config, timeout time.Duration) *client {
	return &client{servers: servers, tls: config, conns: make([]net.Conn, len(servers)), timeout: timeout}
}

// send sends a request to a server, by its index, and reads the reply, whose body is valid until the next
// send. A kept-alive connection found closed before any byte of the reply is dialled again once, as every
// HTTP client does: twice then reports that the server may have seen the request two times.
func (c *client) send(server int, request []byte) (rep reply, twice bool, err error) {
	deadline := time.Now().Add(c.timeout)
	kept := c.conns[server] != nil
	rep, err = c.exchange(server, request, deadline)
	if err == nil || !kept || c.reader.filled > 0 || !closedByServer(err) {
		return rep, false, err
	}
	c.traffic.Reconnects++
	rep, err = c.exchange(server, request, deadline)
	return rep, true, err
}

// exchange makes one try; a connection that failed or that the server wants closed is dropped.
func (c *client) exchange(server int, request []byte, deadline time.Time) (reply, error) {
	c.reader.filled = 0
	conn := c.conns[server]
	if conn == nil {
		dialer := net.Dialer{Deadline: deadline, KeepAlive: -1}
		var err error
		if conn, err = dial(context.Background(), dialer, c.servers[server], c.tls); err != nil {
			return reply{}, fmt.Errorf("%w: %w", errConnect, err)
		}
		c.conns[server] = conn
		c.traffic.Connections++
	}
	rep, err := c.converse(conn, request, deadline)
	if err != nil || rep.closes {
		conn.Close()
		c.conns[server] = nil
	}
	return rep, err
}

func (c *client) converse(conn net.Conn, request []byte, deadline time.Time) (reply, error) {
	if err := conn.SetDeadline(deadline); err != nil {
		return reply{}, err
	}
	sent, err := conn.Write(request)
	c.traffic.BytesSent += int64(sent)
	if err != nil {
		return reply{}, err
	}
	rep, err := c.reader.read(conn)
	c.traffic.BytesReceived += int64(c.reader.filled)
	return rep, err
}

// close closes every connection; the next send dials again.
func (c *client) close() {
	for i, conn := range c.conns {
		if conn != nil {
			conn.Close()
			c.conns[i] = nil
		}
	}
}

// closedByServer reports whether the other side had ended the connection, under TLS also without a word.
func closedByServer(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// faultKind names a transport error for the report.
func faultKind(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "no free port"
	case errors.Is(err, errConnect):
		return "connect"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "timeout"
	case errors.Is(err, errMalformed):
		return "malformed reply"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "reset by server"
	case closedByServer(err):
		return "closed by server"
	default:
		return "other"
	}
}

// dial opens a connection, encrypted when there is a config.
func dial(ctx context.Context, dialer net.Dialer, server string, config *tls.Config) (net.Conn, error) {
	if config == nil {
		return dialer.DialContext(ctx, "tcp", server)
	}
	return (&tls.Dialer{NetDialer: &dialer, Config: config}).DialContext(ctx, "tcp", server)
}
