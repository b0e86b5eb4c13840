package handlers

import (
	"net/netip"

	"github.com/valyala/fasthttp"

	"flashsale/internal/serve/framing"
)

// refusals are the replies to requests that framing does not accept.
var refusals = map[framing.Verdict]*failure{
	framing.BadRequest:   errBadRequest,
	framing.BodyTooLarge: errBodyTooLarge,
	framing.URLTooLong:   errURLTooLong,
	framing.HeadTooLarge: errHeadTooLarge,
	framing.NoRoom:       errUnavailable,
}

// refuse makes the reply to a request that framing refuses, and counts it.
func (s *Server) refuse(r *fasthttp.Response, peer netip.Addr, v framing.Verdict) {
	f := refusals[v]
	r.SetStatusCode(f.status)
	r.Header.SetContentTypeBytes(contentTypeJSON)
	if f.status == fasthttp.StatusServiceUnavailable {
		r.Header.Set("Retry-After", "1")
	}
	r.SetBodyRaw(f.body)
	s.countUnread(r, peer)
}

// badRequest answers a request that cannot be read.
func badRequest(ctx *fasthttp.RequestCtx) {
	reply(ctx, errBadRequest)
	ctx.SetConnectionClose()
}

// malformed answers a request that framing accepts and fasthttp does not.
func (s *Server) malformed(ctx *fasthttp.RequestCtx) {
	badRequest(ctx)
	s.countUnread(&ctx.Response, peerOf(ctx))
}
