package handlers

import (
	"net/netip"

	"github.com/valyala/fasthttp"

	"flashsale/internal/serve/framing"
	"flashsale/internal/serve/listener"
)

// refusals are the replies to requests that framing does not accept.
var refusals = map[framing.Verdict]*failure{
	framing.BadRequest:   errBadRequest,
	framing.BodyTooLarge: errBodyTooLarge,
	framing.URLTooLong:   errURLTooLong,
	framing.HeadTooLarge: errHeadTooLarge,
}

// refuse makes the reply to a request that framing does not accept, and counts it.
func (s *Server) refuse(r *fasthttp.Response, peer netip.Addr, v framing.Verdict) {
	s.refuseUnread(r, peer, refusals[v])
}

func (s *Server) refuseUnread(r *fasthttp.Response, peer netip.Addr, f *failure) {
	r.SetStatusCode(f.status)
	r.Header.SetContentTypeBytes(contentTypeJSON)
	if f.status == fasthttp.StatusServiceUnavailable {
		r.Header.Set("Retry-After", "1")
	}
	r.SetBodyRaw(f.body)
	s.countUnread(r, peer)
}

// refuse answers a request that is not served. The caller closes the connection after it.
func (c *framedConn) refuse(f *failure) {
	r := fasthttp.AcquireResponse()
	defer fasthttp.ReleaseResponse(r)
	r.SkipBody = c.request.IsHead
	c.server.refuseUnread(r, listener.AddressOf(c.RemoteAddr()), f)
	r.SetConnectionClose()
	if _, err := r.WriteTo(c); err == nil {
		c.Linger(*c.received)
	}
}
