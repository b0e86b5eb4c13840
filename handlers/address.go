package handlers

import (
	"bytes"
	"net/netip"
	"unsafe"

	"github.com/valyala/fasthttp"

	"flashsale/internal/serve/listener"
)

// clientAddress returns the address of a request's client: behind trusted proxies the one in
// X-Forwarded-For. It allocates only where a proxy has sent several X-Forwarded-For headers.
func (s *Server) clientAddress(ctx *fasthttp.RequestCtx) netip.Addr {
	peer := peerOf(ctx)
	if !listener.Within(peer, s.cfg.TrustedProxies) {
		return peer
	}
	fields := ctx.Request.Header.PeekAll(fasthttp.HeaderXForwardedFor)
	var forwarded []byte
	switch len(fields) {
	case 0:
		return peer
	case 1:
		forwarded = fields[0]
	default:
		forwarded = bytes.Join(fields, []byte(","))
	}
	// ClientAddress keeps no reference to the text.
	return listener.ClientAddress(peer, unsafe.String(unsafe.SliceData(forwarded), len(forwarded)),
		s.cfg.TrustedProxies)
}

// peerOf returns the address at the other end of a request's connection. It does not allocate.
func peerOf(ctx *fasthttp.RequestCtx) netip.Addr {
	if c, ok := ctx.Conn().(interface{ Peer() netip.Addr }); ok { // see eventloop.Exchange
		return c.Peer()
	}
	return listener.AddressOf(ctx.RemoteAddr())
}
