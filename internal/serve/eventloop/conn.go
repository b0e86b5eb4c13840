package eventloop

import (
	"errors"
	"io"
	"net/netip"

	"flashsale/internal/serve/framing"
	"flashsale/internal/serve/listener"
	"flashsale/internal/serve/rawio"
)

const (
	readsMax = 4        // reads of one connection in one turn
	outMax   = 64 << 10 // bytes of replies collected before they are sent
)

// conn is a client's connection. While it waits for a request it needs no more memory than this struct.
type conn struct {
	server *Server
	fd     int
	peer   netip.AddrPort
	slot   listener.Slot
	index  int // in server.conns
	state  listener.State
	since  int64 // tick at which the state began

	watched    bool // the loop watches it: only once it has to wait
	hasInput   bool // the socket may have bytes to read
	inputEnded bool // no bytes will follow those that the socket has
	ending     ending
	ticket     int64 // place in a queue; 0 in no queue

	in       framing.Input
	exchange *Exchange // under way, nil if there is none
	unsent   []byte    // replies that the socket did not take; nothing is read meanwhile
	dropped  int       // bytes dropped while it lingers
}

// ending is whether and how a connection ends, once the exchange under way is over.
type ending uint8

const (
	goesOn       ending = iota
	closesAfter         // closes after the last reply
	lingersAfter        // lingers after the last reply, see conn.end
	broken              // closes without the reply: sending has failed
)

func (s *Server) newConn(fd int, peer netip.AddrPort, slot listener.Slot) *conn {
	c := s.free.Get().(*conn)
	*c = conn{server: s, fd: fd, peer: peer, slot: slot, index: len(s.conns), hasInput: true}
	c.enter(listener.Opening)
	s.conns = append(s.conns, c)
	return c
}

// Ready continues where the connection waits.
func (c *conn) Ready(e Events) {
	c.hasInput = c.hasInput || e.Readable()
	c.inputEnded = c.inputEnded || e.Ended()
	if (len(c.unsent) == 0 || e.Writable() && c.sendUnsent()) && !c.waits() {
		c.advance()
	}
}

// advance continues as far as possible without waiting.
func (c *conn) advance() {
	if c.state == listener.Lingering {
		c.drop()
	} else if c.serveAll() {
		c.awaitNext()
	}
}

// serveAll serves the requests that have come. It returns false if the connection is gone or about to leave.
func (c *conn) serveAll() bool {
	for reads, served := 0, 0; c.exchange == nil && c.ending == goesOn && len(c.unsent) == 0; {
		if !c.in.Empty() {
			v := c.in.Scan(&c.server.cfg.Limits)
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
			if v == framing.BodyTooLarge && c.server.takesLarge(c.in.Bytes()) {
				if !c.decline() {
					return false
				}
				continue
			}
			if v != framing.More && !c.interrupt(v) {
				return false
			}
		}
		if !c.hasInput || c.ending != goesOn {
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

// interrupt answers an incomplete request: with "100 Continue" or with a refusal. It returns false if the
// connection is gone.
func (c *conn) interrupt(v framing.Verdict) bool {
	if v != framing.Continue {
		c.refuse(v)
		return true
	}
	c.server.out = append(c.server.out, framing.GoOn...)
	return c.flush()
}

// fill reads more of a request. Framing refuses requests over a large buffer, so there is room.
func (c *conn) fill() error {
	room := c.in.Room(c.server.cfg.Buffers)
	n, err := rawio.Receive(c.fd, room)
	c.in.Add(n)
	// A read that leaves room free has emptied the socket.
	c.hasInput = err == nil && (c.inputEnded || n == len(room))
	return err
}

// noMore ends a connection that delivers no more bytes. The client may still read the reply to a cut
// request. It returns false if the connection is gone.
func (c *conn) noMore(err error) bool {
	switch {
	case !errors.Is(err, io.EOF):
		c.server.out = c.server.out[:0] // the next connection must not send these replies
		c.close()
		return false
	case c.in.Cut():
		c.refuse(framing.BadRequest)
	default:
		c.ending = closesAfter
	}
	return true
}

// postpone leaves the rest to a later turn, after the other connections.
func (c *conn) postpone() {
	if !c.waits() {
		c.queueUp(&c.server.pending)
	}
}

// awaitNext sends the replies that are ready and waits for the next event.
func (c *conn) awaitNext() {
	if len(c.server.out) > 0 && !c.flush() {
		return
	}
	if c.in.Empty() {
		c.release()
	}
	switch {
	case c.exchange != nil:
		c.enter(listener.Serving)
		return // the exchange ends first
	case len(c.unsent) > 0:
		if c.state != listener.Writing {
			c.enter(listener.Writing)
		}
	case c.ending != goesOn:
		c.end()
		return
	case !c.in.Empty():
		if c.state != listener.Reading {
			c.enter(listener.Reading)
		}
	case c.server.closeIdle && !c.waits():
		c.close()
		return
	case c.state != listener.Opening:
		c.enter(listener.Idle)
	}
	if !c.watched {
		c.watch()
	}
}

// enter begins a state, which has its own time limit.
func (c *conn) enter(s listener.State) { c.state, c.since = s, c.server.cfg.Limiter.Now() }

func (c *conn) watch() bool {
	if err := c.server.loop.Watch(c.fd, c); err != nil { // the kernel has no memory for it
		c.close()
		return false
	}
	c.watched = true
	return true
}

func (c *conn) release() { c.in.Release(c.server.cfg.Buffers) }

// flush sends the replies in server.out. It keeps what the socket does not take, to send that first. It
// returns false if the connection is gone.
func (c *conn) flush() bool {
	out := c.server.out
	c.server.out = out[:0]
	if len(c.unsent) > 0 { // the socket had no room
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

// sendUnsent sends what flush has kept. It returns false if the connection waits again or is gone.
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
	if n > 0 && c.exchange == nil { // the time limit is for each part
		c.enter(listener.Writing)
	}
	return false
}
