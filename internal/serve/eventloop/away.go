package eventloop

import (
	"log/slog"
	"net"
	"net/netip"
	"os"

	"flashsale/internal/serve/listener"
	"flashsale/internal/serve/rawio"
)

// leave hands the connection and its unread bytes to Config.Away.
func (c *conn) leave() {
	s := c.server
	unread := append([]byte(nil), (*c.in)[c.begin:c.filled]...)
	place := c.place
	c.forget(false)
	file := os.NewFile(uintptr(c.fd), "client")
	socket, err := net.FileConn(file) // with a descriptor of its own
	file.Close()
	c.free()
	if err != nil {
		slog.Warn("a connection is closed: cannot hand it over", "error", err)
		s.cfg.Limiter.Leave(place)
		return
	}
	s.cfg.Away(socket, place, unread)
}

// takesLarge reports whether Config.Away takes a request that is too large for the loop.
func (s *Server) takesLarge(request []byte) bool {
	return s.cfg.TooLarge != nil && s.cfg.TooLarge(request)
}

// Return takes a connection back from Config.Away, with the bytes of further requests that have come.
func (s *Server) Return(socket net.Conn, place listener.Place, unread []byte) {
	fd, err := rawio.Duplicate(socket)
	peer, _ := socket.RemoteAddr().(*net.TCPAddr)
	socket.Close()
	if err != nil || peer == nil || !s.loop.Post(func() { s.goOn(fd, peer.AddrPort(), place, unread) }) {
		if err == nil {
			rawio.Close(fd)
		}
		s.cfg.Limiter.Leave(place)
	}
}

func (s *Server) goOn(fd int, peer netip.AddrPort, place listener.Place, unread []byte) {
	c := s.newConn(fd, peer, place)
	c.enter(listener.Idle, listener.IdleTimeout)
	if len(unread) > 0 {
		c.in, c.filled = s.cfg.Buffers.With(unread), len(unread)
	}
	c.advance()
}
