package handlers

import "bytes"

// Events of VK may be larger than any other request, and are the only ones that take more memory than a
// request usually does: at most largeMax of them at once, in each worker.
const (
	// A text has at most 4096 letters, and VK writes those that are not Latin as six bytes: 25 KB. So 40 such
	// messages fit, the quoted ones of one event. VK names no limit; what is too large for its Callback API it
	// crops: one quoted message and one attachment of each stay ("is_cropped").
	vkBodyBytesMax = 1 << 20
	largeMax       = 16
)

var vkRequestLine = []byte("POST /vk/callback")

// takesLarge reports whether a request may have a larger body than others. It begins with its first line.
func (s *Server) takesLarge(request []byte) bool {
	rest, found := bytes.CutPrefix(bytes.TrimLeft(request, "\r\n"), vkRequestLine)
	return found && len(s.cfg.VK) > 0 && len(rest) > 0 && (rest[0] == ' ' || rest[0] == '?')
}

// grow makes room for more of a request that fills its buffer. It reports false where too many requests have
// so much room.
func (c *framedConn) grow() bool {
	if len(*c.received) < headBytesMax+bodyBytesMax {
		c.received = requests.Grow(c.received)
		return true
	}
	if c.server.large.Add(1) > largeMax {
		c.server.large.Add(-1)
		return false
	}
	c.large = true
	room := make([]byte, headBytesMax+vkBodyBytesMax)
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
