package goroutines

import (
	"errors"
	"io"

	"github.com/valyala/fasthttp"

	"flashsale/internal/serve/eventloop"
	"flashsale/internal/serve/framing"
	"flashsale/internal/serve/listener"
)

// Conn is a connection from which fasthttp reads whole requests: each one that framing has accepted, and
// nothing else. It answers the others itself.
type Conn struct {
	*listener.Conn
	server *Server

	in       framing.Input
	request  []byte // what fasthttp has not read of a request that has come
	handed   bool   // fasthttp reads a request that is not served yet
	closes   bool   // the client wants no reply after the one to this request
	straight int    // requests up to this one that had come before the client could have a reply
	large    bool   // counts among Server.large
	inLine   bool   // it has the turn of Server.line

	home *eventloop.Server // that has lent it for one request, or nil
	over bool              // a request has been answered
	gone bool              // home, or taken: it is not this server's to close
}

// Lent reports whether an event loop has lent the connection for one request.
func (c *Conn) Lent() bool { return c.home != nil }

// HasMore reports whether more than the request has come.
func (c *Conn) HasMore() bool { return !c.in.Empty() }

// Take ends the connection for this server. The caller of a hijacked connection goes on with it.
func (c *Conn) Take() *listener.Conn {
	c.gone = true
	return c.Conn
}

// errLonger ends a request that fasthttp takes to be longer than it is.
var errLonger = errors.New("the request has ended")

// Read waits for a request when fasthttp reads with a buffer of one byte: that is how fasthttp waits, so
// that an idle connection holds no other buffer. What comes with that byte is read along, which saves the
// second system call. Further reads deliver the rest of the request.
func (c *Conn) Read(b []byte) (int, error) {
	if len(c.request) == 0 {
		if len(b) != 1 {
			return 0, errLonger
		}
		if c.over && c.goHome() {
			c.gone = true // for fasthttp the connection ends here
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

// Close closes the connection, unless it is gone.
func (c *Conn) Close() error {
	c.leaveLarge()
	if c.gone {
		return nil
	}
	return c.Conn.Close()
}

// receive waits for a whole request. One that must not be served is answered here and ends the connection.
func (c *Conn) receive() error {
	if !c.in.Empty() {
		c.EnterReading() // it came together with the last one
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
		case framing.Continue: // the body has to come in the time that the request has left
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

// await waits for the first bytes of a request.
func (c *Conn) await() error {
	buffer, n, err := c.ReadInto(&c.server.cfg.Buffers.Small)
	if err == nil {
		c.in.Hold(buffer, n)
	}
	return err
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

// refuse answers a request that is not served. The connection ends.
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
// has found. If fasthttp took it to be shorter, the rest would come as another request.
func (c *Conn) begin() bool {
	c.EnterServing()
	if c.straight++; c.Waited() {
		c.straight = 0
	}
	whole := c.handed && len(c.request) == 0
	c.handed = false
	return whole
}

// enlarge makes room for more of a request that fills its buffer. It reports false where too many requests
// have so much room.
func (c *Conn) enlarge() bool {
	if c.server.large.Add(1) > LargeMax {
		c.server.large.Add(-1)
		return false
	}
	c.large = true
	c.in.Enlarge(c.server.cfg.Limits.Longest(), c.server.cfg.Buffers)
	return true
}

// leaveLarge makes room for the next large request, when this one is answered: until then fasthttp holds its
// body.
func (c *Conn) leaveLarge() {
	if c.large {
		c.large = false
		c.server.large.Add(-1)
	}
}

// goHome gives a lent connection back to the event loop, with what it has received of further requests. It
// reports false where the connection is not lent, or is not open any more, or has received more than the
// loop has room for: behind a large request.
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
