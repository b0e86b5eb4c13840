package goroutines

import (
	"errors"
	"io"

	"github.com/valyala/fasthttp"

	"flashsale/internal/serve/eventloop"
	"flashsale/internal/serve/framing"
	"flashsale/internal/serve/listener"
)

// Conn is a connection from which fasthttp reads only whole requests that framing has accepted. Conn answers
// the others itself.
type Conn struct {
	*listener.Conn
	server *Server

	in       framing.Input
	first    [1]byte // of a request that is awaited: an idle connection holds no buffer
	request  []byte  // the part of a complete request that fasthttp has not read
	handed   bool    // fasthttp reads a request that is not served yet
	closes   bool    // the client wants no reply after the one to this request
	straight int     // requests in a row that came without a wait for a reply
	large    bool    // counted in Server.large
	inLine   bool    // has the turn of Server.line

	home *eventloop.Server // event loop that has lent it, or nil
	over bool              // a request has been answered
	gone bool              // went home or was taken: this server must not close it
}

// Lent reports whether an event loop has lent the connection for one request.
func (c *Conn) Lent() bool { return c.home != nil }

// HasMore reports whether the client has sent more than the request.
func (c *Conn) HasMore() bool { return !c.in.Empty() }

// Take ends the connection for this server. The caller of a hijacked connection continues with it.
func (c *Conn) Take() *listener.Conn {
	c.gone = true
	return c.Conn
}

// errLonger ends a request that fasthttp reads beyond its end.
var errLonger = errors.New("the request has ended")

// Read waits for a request when fasthttp reads with a buffer of one byte: fasthttp waits in that way, so
// that an idle connection holds no other buffer. It reads the whole request then. Further reads deliver the
// rest of the request.
func (c *Conn) Read(b []byte) (int, error) {
	if len(c.request) == 0 {
		if len(b) != 1 {
			return 0, errLonger
		}
		if c.over && c.goHome() {
			c.gone = true // for fasthttp the connection has ended
			return 0, io.EOF
		}
		if err := c.receive(); err != nil {
			c.in.Release(c.server.cfg.Buffers)
			return 0, err
		}
	}
	n := copy(b, c.request)
	if c.request = c.request[n:]; len(c.request) == 0 && c.in.Empty() {
		c.in.Release(c.server.cfg.Buffers)
	}
	return n, nil
}

// Close closes the connection unless it is gone.
func (c *Conn) Close() error {
	c.freePlace()
	if c.gone {
		return nil
	}
	return c.Conn.Close()
}

// receive waits for a whole request. It answers a refused request itself and ends the connection.
func (c *Conn) receive() error {
	if !c.in.Empty() {
		c.EnterReading() // it came together with the request before
	} else if err := c.await(); err != nil {
		return err
	}
	for {
		switch v := c.in.Scan(&c.server.cfg.Limits); v {
		case framing.Whole:
			c.closes = c.in.Request.Close
			c.request = c.in.Whole()
			c.in.Next()
			c.handed = true
			return nil
		case framing.Continue: // the body must come within the request's time
			if err := c.WriteInterim([]byte(framing.GoOn)); err != nil {
				return err
			}
		case framing.More:
			if err := c.fill(); err != nil {
				return err
			}
		default:
			return c.refuse(v)
		}
	}
}

// await waits for the first byte of a request. (With TLS the others need no further system call.)
func (c *Conn) await() error {
	if _, err := io.ReadFull(c.Conn, c.first[:]); err != nil {
		return err
	}
	c.in.Hold(c.server.cfg.Buffers.With(c.first[:]), 1)
	return nil
}

// fill reads more of a request.
func (c *Conn) fill() error {
	room := c.in.Room(c.server.cfg.Buffers)
	if len(room) == 0 {
		if !c.enlarge() {
			return c.refuse(framing.NoRoom)
		}
		room = c.in.Room(c.server.cfg.Buffers)
	}
	n, err := c.Conn.Read(room)
	if c.in.Add(n); n > 0 {
		return nil
	}
	if errors.Is(err, io.EOF) && c.in.Cut() {
		return c.refuse(framing.BadRequest) // the client may still read
	}
	return err
}

// refuse answers a request that framing refuses, and ends the connection.
func (c *Conn) refuse(v framing.Verdict) error {
	r := fasthttp.AcquireResponse()
	defer fasthttp.ReleaseResponse(r)
	r.SkipBody = c.in.Request.IsHead
	c.server.cfg.Refuse(r, listener.AddressOf(c.RemoteAddr()), v)
	r.SetConnectionClose()
	if _, err := r.WriteTo(c); err == nil {
		dropped := c.server.cfg.Buffers.Small.Get().(*[]byte)
		c.Linger(*dropped)
		c.server.cfg.Buffers.Put(dropped)
	}
	return io.EOF
}

// begin notes that a handler begins. It reports whether fasthttp has read exactly the request that framing
// has found. If fasthttp read less, the rest would pass for another request.
func (c *Conn) begin() bool {
	c.EnterServing()
	if c.straight++; c.Waited() {
		c.straight = 0
	}
	whole := c.handed && len(c.request) == 0
	c.handed = false
	return whole
}

// enlarge makes room for more of a request that fills its buffer. It returns false if too many requests are
// that large.
func (c *Conn) enlarge() bool {
	if c.large {
		return false
	}
	if c.server.large.Add(1) > LargeMax {
		c.server.large.Add(-1)
		return false
	}
	c.large = true
	c.in.Enlarge(c.server.cfg.Limits.Longest(), c.server.cfg.Buffers)
	return true
}

// leaveLarge makes room for the next large request, after the reply: until then fasthttp holds the body. The
// connection keeps its place while it has received more than a usual buffer can hold.
func (c *Conn) leaveLarge() {
	if c.large && c.in.Shrink(c.server.cfg.Buffers) {
		c.freePlace()
	}
}

// freePlace gives the place of a large request back, if the connection has one.
func (c *Conn) freePlace() {
	if c.large {
		c.large = false
		c.server.large.Add(-1)
	}
}

// goHome gives a lent connection back to the event loop, with the bytes received of further requests. It
// returns false if the connection is not lent, is closed, or has received more than the loop's buffers can
// hold (behind a large request).
func (c *Conn) goHome() bool {
	if c.home == nil || len(c.in.Bytes()) > c.server.cfg.Buffers.Longest() {
		return false
	}
	socket, slot, open := c.LetGo()
	if !open {
		return false
	}
	unread := append([]byte(nil), c.in.Bytes()...)
	c.in.Release(c.server.cfg.Buffers)
	c.home.Return(socket, slot, unread)
	return true
}
