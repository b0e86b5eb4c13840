package handlers

import "flashsale/internal/serve/framing"

// Events of VK may be larger than any other request, and are the only ones that take more memory than a
// request usually does: at most largeMax of them at once, in each worker.
const (
	// A text has at most 4096 letters, and VK writes those that are not Latin as six bytes: 25 KB. So 40 such
	// messages fit, the quoted ones of one event. VK names no limit; what is too large for its Callback API it
	// crops: one quoted message and one attachment of each stay ("is_cropped").
	vkBodyBytesMax = 1 << 20
	largeMax       = 16
)

// takesLarge reports whether a request that is too large for the event loop is one that may be larger.
func (s *Server) takesLarge(request []byte) bool {
	var r framing.Request
	v := r.Scan(request, &s.sizes)
	return v == framing.More || v == framing.Continue
}

// grow makes room for more of a request that fills its buffer. It reports false where too many requests have
// so much room.
func (c *framedConn) grow() bool {
	if len(*c.received) < headBytesMax+longestBodyMax {
		c.received = requests.Grow(c.received)
		return true
	}
	if c.server.large.Add(1) > largeMax {
		c.server.large.Add(-1)
		return false
	}
	c.large = true
	room := make([]byte, c.server.sizes.Longest())
	copy(room, *c.received)
	requests.Put(c.received)
	c.received = &room
	return true
}

// leaveLarge gives the place of a large request to the next one, when it is answered: until then fasthttp
// holds its body.
func (c *framedConn) leaveLarge() {
	if c.large {
		c.large = false
		c.server.large.Add(-1)
	}
}
