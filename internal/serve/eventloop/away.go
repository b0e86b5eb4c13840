package eventloop

import (
	"log/slog"
	"net"
	"net/netip"
	"os"

	"flashsale/internal/serve/listener"
	"flashsale/internal/serve/rawio"
)

// leave hands the connection and its unread bytes over to Config.Away.
func (c *conn) leave() {
	s := c.server
	unread := append([]byte(nil), c.in.Bytes()...)
	slot := c.slot
	c.forget(false)
	file := os.NewFile(uintptr(c.fd), "client")
	socket, err := net.FileConn(file) // with a descriptor of its own
	file.Close()
	c.free()
	if err != nil {
		slog.Warn("a connection is closed: cannot hand it over", "error", err)
		s.cfg.Limiter.Leave(slot)
		return
	}
	s.cfg.Away(socket, slot, unread)
}

// takesLarge reports whether Config.Away takes a request that is too large for the loop.
func (s *Server) takesLarge(request []byte) bool {
	return s.cfg.TooLarge != nil && s.cfg.TooLarge(request)
}

// Return takes a connection back from Config.Away, with the bytes already received of further requests.
func (s *Server) Return(socket net.Conn, slot listener.Slot, unread []byte) {
	fd, err := rawio.Duplicate(socket)
	peer, _ := socket.RemoteAddr().(*net.TCPAddr)
	socket.Close()
	if err != nil || peer == nil || !s.loop.Post(func() { s.goOn(fd, peer.AddrPort(), slot, unread) }) {
		if err == nil {
			rawio.Close(fd)
		}
		s.cfg.Limiter.Leave(slot)
	}
}

func (s *Server) goOn(fd int, peer netip.AddrPort, slot listener.Slot, unread []byte) {
	c := s.newConn(fd, peer, slot)
	c.enter(listener.Idle)
	if len(unread) > 0 {
		c.in.Hold(s.cfg.Buffers.With(unread), len(unread))
	}
	c.advance()
}
