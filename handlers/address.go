package handlers

import (
	"bytes"
	"net/netip"

	"github.com/valyala/fasthttp"

	"flashsale/internal/listener"
)

// clientAddress returns who sent a request; behind trusted proxies that is the client they name. It
// allocates, so it is for the cold paths.
func (s *Server) clientAddress(ctx *fasthttp.RequestCtx) netip.Addr {
	forwarded := bytes.Join(ctx.Request.Header.PeekAll(fasthttp.HeaderXForwardedFor), []byte(","))
	return listener.ClientAddress(listener.AddressOf(ctx.RemoteAddr()), string(forwarded),
		s.cfg.TrustedProxies)
}
