package pipeline

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"flashsale/internal/serve/rawio"
)

// bufferBytes holds a whole batch of orders (about 200 bytes each), so that one write sends it.
const bufferBytes = 64 << 10

var errNoReply = errors.New("no reply in time")

// Link is one connection to Redis, for one goroutine. After an error of the connection it must be closed and
// dialled anew. Its deadlines hold even though radix clears the read deadline before it reads, and then
// waits for ever for a server that never answers (radix issue 284). Below radix the link turns "no deadline"
// into the deadline of the batch under way, for reads and writes.
type Link struct {
	conn     radix.Conn
	socket   net.Conn     // below it
	ended    func() error // why the context of Dial has ended, nil while it lasts
	release  func() bool  // detaches the link from that context
	deadline atomic.Int64 // Unix nanoseconds
	broken   atomic.Pointer[error]
	replies  replies // of the batch under way
}

// Dial connects within the Timeout of the Config, and logs in. The end of ctx closes the link; a call under
// way then returns the error of ctx.
func Dial(ctx context.Context, cfg Config) (*Link, error) {
	return new(locator).dial(ctx, cfg, 0)
}

// dial connects to the address of a Config as it stands there. fieldsMax is as in Options.
func dial(ctx context.Context, cfg Config, fieldsMax int) (*Link, error) {
	dialing, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	l := &Link{ended: ctx.Err}
	l.replies.link = l
	l.deadline.Store(time.Now().Add(cfg.Timeout).UnixNano())
	var err error
	l.conn, err = radix.Dialer{
		AuthUser:    cfg.Username,
		AuthPass:    cfg.Password,
		NetDialer:   guardedDialer{link: l, fieldsMax: fieldsMax},
		NewRespOpts: newRespOpts,
	}.Dial(dialing, cfg.Network, cfg.Address)
	var refused resp3.SimpleError // of the password
	switch {
	case errors.As(err, &refused):
		return nil, fmt.Errorf("cannot log in to Redis at %s: %w", cfg.Address, replyError(refused.S))
	case err != nil:
		return nil, fmt.Errorf("cannot reach Redis at %s: %w", cfg.Address, err)
	}
	l.release = context.AfterFunc(ctx, func() { l.conn.Close() })
	return l, nil
}

// Do carries out a call within the limit and frees it. A script needs Script.Eval. An error reply is an
// ErrUnavailable with the text of Redis; the link stays usable.
func (l *Link) Do(x *Call, limit time.Duration) error {
	defer x.Free()
	if err := l.roundTrip(newBatch(nil, x), time.Now().Add(limit)); err != nil {
		return err
	}
	return x.err
}

// detach closes the link and returns a descriptor of its connection, which the caller closes. The Go runtime
// does not watch that descriptor: it would wake a thread for each reply.
func (l *Link) detach() (fd int, err error) {
	defer l.Close()
	return rawio.Duplicate(l.socket)
}

// closedByPeer reports whether Redis has closed the connection. No call may be under way.
func (l *Link) closedByPeer() bool { return rawio.PeerClosed(l.socket) }

// Close ends the connection.
func (l *Link) Close() {
	l.release()
	l.conn.Close()
}

// roundTrip sends the batch and reads its replies. After an error the link must be closed.
func (l *Link) roundTrip(b *batch, deadline time.Time) error {
	l.deadline.Store(deadline.UnixNano())
	l.replies.batch = b
	err := l.conn.EncodeDecode(context.Background(), b, &l.replies)
	switch broken := l.broken.Load(); {
	case err != nil && l.ended() != nil:
		return l.ended()
	case err != nil && broken != nil: // radix may only return that it has closed the connection
		return *broken
	case errors.Is(err, context.Canceled): // radix returns this after a deadline
		return errNoReply
	}
	return err
}

// brokenBy keeps the first error that makes the link unusable. It does not keep a passed deadline: radix has
// its own error for that.
func (l *Link) brokenBy(err error) {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		l.broken.CompareAndSwap(nil, &err)
	}
}

// replies reads the replies to a batch from a link.
type replies struct {
	batch *batch
	link  *Link
}

// UnmarshalRESP reads the replies of all calls.
func (r *replies) UnmarshalRESP(br resp.BufferedReader, o *resp.Opts) error {
	err := r.batch.UnmarshalRESP(br, o)
	if err != nil {
		r.link.brokenBy(err)
	}
	return err
}

// guardedDialer opens the network connection below a link.
type guardedDialer struct {
	link      *Link
	fieldsMax int
}

func (d guardedDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	var plain net.Dialer
	c, err := plain.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.link.socket = c
	return &guardedConn{Conn: rawio.Wrap(c), link: d.link, guard: newReplyGuard(d.fieldsMax)}, nil
}

// guardedConn is the network connection below a link: it enforces the link's deadline and the limits on
// replies.
type guardedConn struct {
	net.Conn
	link  *Link
	guard *replyGuard
}

func (c *guardedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if fault := c.guard.check(b[:n]); fault != nil {
		n, err = 0, fault
	}
	if err != nil {
		c.link.brokenBy(err)
	}
	return n, err
}

func (c *guardedConn) SetReadDeadline(t time.Time) error {
	limit := time.Unix(0, c.link.deadline.Load())
	if t.IsZero() || t.After(limit) {
		t = limit
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *guardedConn) Write(b []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(time.Unix(0, c.link.deadline.Load())); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

func newRespOpts() *resp.Opts {
	o := resp.NewOpts()
	o.GetBufferedReader = func(r io.Reader) resp.BufferedReader {
		return bufio.NewReaderSize(r, bufferBytes)
	}
	o.GetBufferedWriter = func(w io.Writer) resp.BufferedWriter {
		return bufio.NewWriterSize(w, bufferBytes)
	}
	return o
}
