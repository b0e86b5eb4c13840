package handlers

import (
	"net"

	"flashsale/internal/serve/eventloop"
	"flashsale/internal/serve/framing"
	"flashsale/internal/serve/goroutines"
	"flashsale/internal/serve/listener"
)

// requests are buffers for one request and for the bytes behind it.
var requests = framing.NewBuffers(headBytesMax+usualBodyBytes, headBytesMax+longestBodyMax)

// newEngines makes the two servers: goroutines for all calls that may wait and, where there is a loop,
// eventloop for the hot calls. The loop lends the requests that it does not answer to the other server.
func (s *Server) newEngines(loop *eventloop.Loop) {
	s.goroutines = goroutines.NewServer(goroutines.Config{Limits: s.sizes, Limiter: s.limiter,
		Buffers: requests, Handler: s.handle, Malformed: s.malformed, Refuse: s.refuse})
	if loop == nil {
		return
	}
	sizes := s.sizes
	sizes.LongestBody = longestBodyMax
	s.loop = eventloop.NewServer(loop, eventloop.Config{
		Limits: sizes, Limiter: s.limiter, Buffers: requests, Handler: s.serveOnLoop, Refuse: s.refuse,
		Malformed: s.malformed, TooLarge: s.goroutines.Takes,
		Away: func(socket net.Conn, slot listener.Slot, unread []byte) {
			s.goroutines.Lend(s.loop, socket, slot, unread)
		},
	})
}
