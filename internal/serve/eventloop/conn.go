package eventloop

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"time"

	"flashsale/internal/serve/framing"
	"flashsale/internal/serve/listener"
	"flashsale/internal/serve/rawio"
)

const (
	readsMax = 4        // reads of one connection in one turn
	outMax   = 64 << 10 // bytes of replies that are collected before they are sent
)

// conn is the connection of a client. While it waits for a request it is no more than this struct.
type conn struct {
	server *Server
	fd     int
	peer   netip.AddrPort
	place  listener.Place
	state  listener.State

	watched  bool  // the loop knows of it: only once it has to wait for something
	readable bool  // there may be something to read
	ended    bool  // and nothing comes behind it
	closing  bool  // it ends once the last reply is sent
	lingers  bool  // and then it lingers
	broken   bool  // nothing can be sent any more
	ticket   int64 // in a queue, 0 for none

	in       *[]byte // bytes of requests, nil while it waits for one
	begin    int     // of the request that is being read
	filled   int     // end of the bytes
	request  framing.Request
	exchange *Exchange // under way, nil for none
	unsent   []byte    // of replies; while there is any, nothing is read
	dropped  int       // bytes, while it lingers

	// The place in the wheel.
	deadline, slot int64 // ticks; 0 for none
	next, previous *conn
}

func (s *Server) newConn(fd int, peer netip.AddrPort, place listener.Place) *conn {
	c := s.conns.Get().(*conn)
	*c = conn{server: s, fd: fd, peer: peer, place: place, readable: true}
	c.state = listener.Opening
	c.deadline = s.wheel.after(listener.FirstByteTimeout)
	s.wheel.add(c)
	return c
}

// Ready goes on where the connection waits.
func (c *conn) Ready(e Events) {
	c.readable = c.readable || e.Readable()
	c.ended = c.ended || e.Ended()
	if (len(c.unsent) == 0 || e.Writable() && c.sendUnsent()) && !c.waits() {
		c.advance()
	}
}

// advance goes on as far as it can without waiting.
func (c *conn) advance() {
	if c.state == listener.Lingering {
		c.drop()
	} else if c.serveAll() {
		c.rest()
	}
}

// serveAll serves what has come. It reports false where the connection is gone, or about to leave.
func (c *conn) serveAll() bool {
	for reads, served := 0, 0; c.exchange == nil && !c.closing && len(c.unsent) == 0; {
		if c.filled > c.begin {
			v := c.request.Scan((*c.in)[c.begin:c.filled], &c.server.cfg.Limits)
			if v == framing.Whole {
				if !c.server.mayServe(served) {
					c.postpone()
					return true
				}
				served++
				if !c.serve() || len(c.server.out) > outMax && !c.flush() {
					return false
				}
				continue
			}
			if v == framing.BodyTooLarge && c.server.takesLarge((*c.in)[c.begin:c.filled]) {
				if !c.decline() {
					return false
				}
				continue
			}
			if v != framing.More && !c.interrupt(v) {
				return false
			}
		}
		if !c.readable || c.closing {
			return true
		}
		if reads++; reads > readsMax {
			c.postpone()
			return true
		}
		if err := c.fill(); err != nil && !errors.Is(err, rawio.ErrAgain) {
			return c.noMore(err)
		}
	}
	return true
}

// interrupt answers a request that is not whole: it goes on, or it is refused. It reports false where the
// connection is gone.
func (c *conn) interrupt(v framing.Verdict) bool {
	if v != framing.Continue {
		c.refuse(v)
		return true
	}
	c.server.out = append(c.server.out, "HTTP/1.1 100 Continue\r\n\r\n"...)
	return c.flush()
}

// fill reads more of a request. There is room for it: framing refuses what is longer than a large buffer.
func (c *conn) fill() error {
	if c.in == nil {
		c.in = c.server.cfg.Buffers.Small.Get().(*[]byte)
	}
	if c.begin > 0 { // requests that came before it make room
		c.filled = copy(*c.in, (*c.in)[c.begin:c.filled])
		c.begin = 0
	} else if c.filled == len(*c.in) {
		c.in = c.server.cfg.Buffers.Grow(c.in)
	}
	buffer := *c.in
	n, err := rawio.Receive(c.fd, buffer[c.filled:])
	c.filled += n
	// What is less than there is room for is all that there is.
	c.readable = err == nil && (c.ended || c.filled == len(buffer))
	return err
}

// noMore ends a connection from which nothing more can be read. If a request is cut, its client may still
// read. It reports false where the connection is gone.
func (c *conn) noMore(err error) bool {
	switch {
	case !errors.Is(err, io.EOF):
		c.server.out = c.server.out[:0] // the next connection must not send what is for this one
		c.close()
		return false
	case len(bytes.Trim((*c.in)[c.begin:c.filled], "\r\n")) > 0:
		c.refuse(framing.BadRequest)
	}
	c.closing = true
	return true
}

// postpone leaves the rest to a later turn: the other connections come first.
func (c *conn) postpone() {
	if !c.waits() {
		c.queueUp(&c.server.pending)
	}
}

// rest sends what is ready and waits for what comes next.
func (c *conn) rest() {
	if len(c.server.out) > 0 && !c.flush() {
		return
	}
	if c.filled == c.begin {
		c.release()
	}
	switch {
	case c.exchange != nil:
		c.enter(listener.Serving, 0)
		return // its own end comes first
	case len(c.unsent) > 0:
		if c.state != listener.Writing {
			c.enter(listener.Writing, listener.WriteTimeout)
		}
	case c.closing:
		c.end()
		return
	case c.in != nil:
		if c.state != listener.Reading {
			c.enter(listener.Reading, listener.RequestTimeout)
		}
	case c.server.closeIdle && !c.waits():
		c.close()
		return
	case c.state != listener.Opening:
		c.enter(listener.Idle, listener.IdleTimeout)
	}
	if !c.watched {
		c.watch()
	}
}

// enter begins a state, which has its own limit of time.
func (c *conn) enter(s listener.State, limit time.Duration) {
	c.state = s
	c.server.wheel.limit(c, limit)
}

func (c *conn) watch() bool {
	if err := c.server.loop.Watch(c.fd, c); err != nil { // the kernel has no memory for it
		c.close()
		return false
	}
	c.watched = true
	return true
}

func (c *conn) release() {
	if c.in != nil {
		c.server.cfg.Buffers.Put(c.in)
		c.in = nil
	}
	c.begin, c.filled = 0, 0
}

// flush sends the replies in server.out. What the socket does not take is kept, and goes first. It reports
// false where the connection is gone.
func (c *conn) flush() bool {
	out := c.server.out
	c.server.out = out[:0]
	if len(c.unsent) > 0 { // there was no room
		c.unsent = append(c.unsent, out...)
		return true
	}
	n, err := rawio.Send(c.fd, out)
	if err != nil {
		c.close()
		return false
	}
	if n == len(out) {
		return true
	}
	c.unsent = append(c.unsent, out[n:]...)
	if !c.watched && !c.watch() {
		return false
	}
	if err := c.server.loop.WatchWrites(c.fd); err != nil {
		c.close()
		return false
	}
	return true
}

// sendUnsent sends what flush has kept. It reports false where the connection waits again, or is gone.
func (c *conn) sendUnsent() bool {
	n, err := rawio.Send(c.fd, c.unsent)
	if err != nil {
		c.close()
		return false
	}
	if c.unsent = c.unsent[n:]; len(c.unsent) == 0 {
		c.unsent = nil
		return true
	}
	if n > 0 && c.exchange == nil { // each part has its time
		c.enter(listener.Writing, listener.WriteTimeout)
	}
	return false
}
