package redisx

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp"

	"flashsale/redisx/rawio"
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
}

// roundTrip sends the batch and reads its replies. After an error the link must be closed.
func (l *link) roundTrip(b *batch, deadline time.Time) error {
	l.deadline.Store(deadline.UnixNano())
	err := l.EncodeDecode(context.Background(), b, b)
	if errors.Is(err, context.Canceled) { // what radix makes of a deadline that passed
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
	return &deadlineConn{Conn: rawio.Wrap(c), deadline: &l.deadline}, nil
}

type deadlineConn struct {
	net.Conn
	deadline *atomic.Int64
}

func (c *deadlineConn) SetReadDeadline(t time.Time) error {
	limit := time.Unix(0, c.deadline.Load())
	if t.IsZero() || t.After(limit) {
		t = limit
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *deadlineConn) Write(b []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(time.Unix(0, c.deadline.Load())); err != nil {
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
