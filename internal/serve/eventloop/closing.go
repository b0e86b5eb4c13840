package eventloop

import (
	"errors"

	"flashsale/internal/serve/framing"
	"flashsale/internal/serve/listener"
	"flashsale/internal/serve/rawio"
)

// refuse answers a request that framing refuses, and then ends the connection.
func (c *conn) refuse(v framing.Verdict) {
	s := c.server
	x := s.exchanges.Get().(*Exchange)
	x.end.peer = c.peer
	x.Response.SkipBody = c.in.Request.IsHead
	s.cfg.Refuse(&x.Response, x.end.Peer(), v)
	x.Response.SetConnectionClose()
	s.out = x.appendReply(s.out)
	x.free(s)
	c.ending = lingersAfter
}

// end ends a connection after its last reply.
func (c *conn) end() {
	if c.ending != lingersAfter {
		c.close()
		return
	}
	// Many clients send a whole body before they read. Closing the connection at once would reset it, and the
	// client would lose the reply (RFC 9112, 9.6).
	c.release()
	shutdownWrite(c.fd)
	c.enter(listener.Lingering)
	if c.watched || c.watch() {
		c.drop()
	}
}

// drop discards what a refused client still sends.
func (c *conn) drop() {
	in := c.server.cfg.Buffers.Small.Get().(*[]byte)
	defer c.server.cfg.Buffers.Put(in)
	for range readsMax {
		n, err := rawio.Receive(c.fd, *in)
		if errors.Is(err, rawio.ErrAgain) {
			return
		}
		if c.dropped += n; err != nil || c.dropped > listener.LingerBytesMax {
			c.close()
			return
		}
	}
	c.postpone()
}

// close closes the connection and makes room for another one, after the exchange under way if there is one.
func (c *conn) close() {
	if c.exchange != nil {
		c.ending = broken
		return
	}
	c.forget(true)
	rawio.Close(c.fd)
	c.server.cfg.Limiter.Leave(c.slot)
	c.free()
}

// sweep begins to look for connections that are over their time limit, unless that is under way.
func (s *Server) sweep() {
	if s.unswept == 0 {
		s.unswept = len(s.conns)
	}
}

// closeOverdue closes some of the connections that are over their time limit. The last connection takes the
// index of a closed one; its time was looked at before.
func (s *Server) closeOverdue() {
	closed := 0
	for range sweptMax {
		s.unswept = min(s.unswept, len(s.conns))
		if s.unswept == 0 || closed == closesMax {
			return
		}
		s.unswept--
		if c := s.conns[s.unswept]; s.cfg.Limiter.Overdue(c.state, c.since) {
			c.close()
			closed++
		}
	}
}

// forget removes the connection from the loop and the server. The last connection takes its index.
func (c *conn) forget(closing bool) {
	if c.watched {
		c.server.loop.Forget(c.fd, closing)
	}
	s := c.server
	last := len(s.conns) - 1
	s.conns[c.index] = s.conns[last]
	s.conns[c.index].index = c.index
	s.conns[last] = nil
	s.conns = s.conns[:last]
}

func (c *conn) free() {
	c.release()
	s := c.server
	*c = conn{}
	s.free.Put(c)
}
