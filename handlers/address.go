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
	return listener.ClientAddress(peerOf(ctx), string(forwarded), s.cfg.TrustedProxies)
}

// peerOf returns the address at the other end of a request's connection. It does not allocate.
func peerOf(ctx *fasthttp.RequestCtx) netip.Addr {
	if c, ok := ctx.Conn().(interface{ Peer() netip.Addr }); ok { // see eventloop.Exchange
		return c.Peer()
	}
	return listener.AddressOf(ctx.RemoteAddr())
}
