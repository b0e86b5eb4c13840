package load

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

// errConnect is a connection that could not be opened, TLS handshake included.
var errConnect = errors.New("cannot connect")

// Traffic counts a buyer's connections and their bytes.
type Traffic struct {
	Connections int64 `json:"connections"` // opened
	// of these, opened again because the server had closed an idle one
	Reconnects    int64 `json:"reconnects"`
	BytesSent     int64 `json:"bytes_sent"`     // HTTP bytes
	BytesReceived int64 `json:"bytes_received"` // HTTP bytes
}

// replyMax is the limit of the body of a reply, bytes.
const replyMax = 16 << 20

// errMalformed is a reply that is not HTTP, or longer than the limit.
var errMalformed = errors.New("malformed reply")

// reply is one HTTP response. Header and body are valid until the next request.
type reply struct {
	status int
	header *fasthttp.ResponseHeader
	body   []byte
}

// client is one buyer's HTTP client: at most one connection per server, one request at a time. fasthttp only
// reads the replies: its client does not tell when a request may have been sent twice, and net/http takes
// CPU from the servers on the same machine (TUNING.md).
type client struct {
	servers  []string    // host:port
	tls      *tls.Config // nil = plain HTTP
	conns    []net.Conn  // by server; nil = not connected
	source   source
	reader   *bufio.Reader
	response fasthttp.Response
	timeout  time.Duration // per request, dialling included
	traffic  Traffic
}

// source is a connection that a reply is read from. It keeps its error, because fasthttp takes each error
// before the first byte for the end of the connection.
type source struct {
	net.Conn
	received int // bytes of the reply
	err      error
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	s.received += n
	if err != nil {
		s.err = err
	}
	return n, err
}

func newClient(servers []string, config *tls.Config, timeout time.Duration) *client {
	c := &client{servers: servers, tls: config, conns: make([]net.Conn, len(servers)), timeout: timeout}
	c.reader = bufio.NewReader(&c.source)
	c.response.Header.SetNoDefaultContentType(true) // a reply without one has none
	return c
}

// send sends a request to a server, by its index, and reads the reply. If a kept-alive connection is closed
// before any byte of the reply, send dials again once, as every HTTP client does; twice then reports that
// the server may have seen the request two times.
func (c *client) send(server int, request []byte) (rep reply, twice bool, err error) {
	deadline := time.Now().Add(c.timeout)
	kept := c.conns[server] != nil
	rep, err = c.exchange(server, request, deadline)
	if err == nil || !kept || c.source.received > 0 || !closedByServer(err) {
		return rep, false, err
	}
	c.traffic.Reconnects++
	rep, err = c.exchange(server, request, deadline)
	return rep, true, err
}

// exchange makes one try; it drops a connection that failed or that the server wants closed.
func (c *client) exchange(server int, request []byte, deadline time.Time) (reply, error) {
	c.source = source{Conn: c.conns[server]}
	if c.conns[server] == nil {
		dialer := net.Dialer{Deadline: deadline, KeepAlive: -1}
		conn, err := dial(context.Background(), dialer, c.servers[server], c.tls)
		if err != nil {
			return reply{}, fmt.Errorf("%w: %w", errConnect, err)
		}
		c.conns[server], c.source.Conn = conn, conn
		c.traffic.Connections++
	}
	err := c.converse(request, deadline)
	if err != nil || c.response.ConnectionClose() {
		c.source.Close()
		c.conns[server] = nil
	}
	return reply{c.response.StatusCode(), &c.response.Header, c.response.Body()}, err
}

func (c *client) converse(request []byte, deadline time.Time) error {
	if err := c.source.SetDeadline(deadline); err != nil {
		return err
	}
	sent, err := c.source.Write(request)
	c.traffic.BytesSent += int64(sent)
	if err != nil {
		return err
	}
	c.reader.Reset(&c.source)
	err = c.response.ReadLimitBody(c.reader, replyMax)
	c.traffic.BytesReceived += int64(c.source.received)
	switch {
	case err != nil && c.source.err != nil:
		return c.source.err
	case err != nil:
		return fmt.Errorf("%w: %w", errMalformed, err)
	case c.reader.Buffered() > 0:
		return fmt.Errorf("%w: %d bytes after its end", errMalformed, c.reader.Buffered())
	}
	return nil
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

// closedByServer reports whether the server had ended the connection, under TLS also without a close notice.
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
