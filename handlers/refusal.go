package handlers

import (
	"crypto/tls"

	"github.com/valyala/fasthttp"

	"flashsale/internal/framing"
)

// refusals are the replies to requests that framing does not accept.
var refusals = map[framing.Verdict]*failure{
	framing.BadRequest:   errBadRequest,
	framing.BodyTooLarge: errBodyTooLarge,
	framing.URLTooLong:   errURLTooLong,
	framing.HeadTooLarge: errHeadTooLarge,
}

// refuse answers a request that is not served. The connection is to be closed after it.
func (c *connection) refuse(v framing.Verdict) {
	f := refusals[v]
	r := fasthttp.AcquireResponse()
	defer fasthttp.ReleaseResponse(r)
	r.SetStatusCode(f.status)
	r.SetConnectionClose()
	r.Header.SetContentTypeBytes(contentTypeJSON)
	r.SetBodyRaw(f.body)
	r.SkipBody = c.request.IsHead
	if _, err := r.WriteTo(c); err == nil {
		c.linger()
	}
}

// linger ends what is sent and drops what still comes, up to lingerBytesMax and, by the sweeper,
// lingerTimeout. Many clients send all of a body before they read; closed at once, their connection would
// be reset and the reply lost with it (RFC 9112, 9.6).
func (c *connection) linger() {
	c.enter(lingering)
	if encrypted, ok := c.Conn.(*tls.Conn); ok {
		_ = encrypted.CloseWrite() // the socket's own end follows
	}
	socket, ok := c.socket.(interface{ CloseWrite() error })
	if !ok || socket.CloseWrite() != nil {
		return
	}
	for dropped := 0; dropped < lingerBytesMax; {
		n, err := c.socket.Read(*c.received)
		if err != nil {
			return
		}
		dropped += n
	}
}
