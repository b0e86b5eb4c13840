package handlers

import (
	"bytes"
	"net"

	"flashsale/internal/serve/eventloop"
	"flashsale/internal/serve/listener"
)

// newLoopServer makes the server of the hot calls. What they do not answer goes to fasthttp's server.
func (s *Server) newLoopServer(loop *eventloop.Loop) *eventloop.Server {
	sizes := s.sizes
	sizes.LongestBody = longestBodyMax
	return eventloop.NewServer(loop, eventloop.Config{
		Limits: sizes, Limiter: s.limiter, Buffers: requests, Handler: s.serveOnLoop, Refuse: s.refuse,
		Malformed: s.malformed, Away: s.lend, TooLarge: s.takesLarge,
	})
}

// lend hands a connection of the event loop to fasthttp's server, for one request.
func (s *Server) lend(socket net.Conn, place listener.Place, unread []byte) {
	c := &framedConn{Conn: s.limiter.Hold(socket, place), server: s, home: s.loop}
	c.received, c.filled = requests.With(unread), len(unread)
	c.EnterReading()                        // a drain must not take it for idle before the goroutine runs
	go func() { _ = s.http.ServeConn(c) }() // an error is the client's, and it has its answer
}

// goHome gives a lent connection back to the event loop, with what it has received of further requests. It
// reports false where the connection is not lent, or is not open any more, or has received more than the
// loop has room for: behind a large request.
func (c *framedConn) goHome() bool {
	if c.home == nil || c.filled-c.end > headBytesMax+longestBodyMax {
		return false
	}
	socket, place, open := c.Conn.LetGo()
	if !open {
		return false
	}
	var unread []byte
	if c.received != nil {
		unread = bytes.Clone((*c.received)[c.end:c.filled])
	}
	c.release()
	c.home.Return(socket, place, unread)
	return true
}
