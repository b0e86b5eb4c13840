package redisx

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp"

	"flashsale/internal/rawio"
)

// bufferBytes holds a whole batch of orders (about 200 bytes each), so that it leaves in one write.
const bufferBytes = 64 << 10

var errNoReply = errors.New("no reply in time")

// link is a radix connection whose deadlines hold. radix clears the read deadline before it reads, and a
// server that accepts and never answers then blocks it for ever (radix issue 284). Below radix the link
// turns "no deadline" into the deadline of the batch under way, for reads and writes.
type link struct {
	radix.Conn
	deadline atomic.Int64 // Unix nanoseconds
	foods    int          // the stock's reply may hold so many
	broken   atomic.Pointer[error]
}

// roundTrip sends the batch and reads its replies. After an error the link must be closed.
func (l *link) roundTrip(b *batch, deadline time.Time) error {
	l.deadline.Store(deadline.UnixNano())
	err := l.EncodeDecode(context.Background(), b, b)
	switch broken := l.broken.Load(); {
	case err != nil && broken != nil: // radix may return no more than that it has closed the connection
		return *broken
	case errors.Is(err, context.Canceled): // what radix makes of a deadline that passed
		return errNoReply
	}
	return err
}

// ask carries out the commands of a call alone and frees it.
func (l *link) ask(x *call, limit time.Duration) error {
	defer x.free()
	if err := l.roundTrip(newBatch(nil, x), time.Now().Add(limit)); err != nil {
		return err
	}
	return x.err
}

// DialContext opens the network connection for radix.
func (l *link) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &guardedConn{Conn: rawio.Wrap(c), link: l, guard: newReplyGuard(l.foods)}, nil
}

// guardedConn is the network connection below a link: it keeps the link's deadline and its replies within
// their limits.
type guardedConn struct {
	net.Conn
	link  *link
	guard *replyGuard
}

func (c *guardedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if fault := c.guard.check(b[:n]); fault != nil {
		n, err = 0, fault
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		broken := err // err itself would be an allocation for every Read
		c.link.broken.CompareAndSwap(nil, &broken)
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
	o.GetBufferedReader = func(r io.Reader) resp.BufferedReader { return bufio.NewReaderSize(r, bufferBytes) }
	o.GetBufferedWriter = func(w io.Writer) resp.BufferedWriter { return bufio.NewWriterSize(w, bufferBytes) }
	return o
}
