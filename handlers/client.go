package handlers

import (
	"bytes"
	"net"
	"net/netip"
	"slices"

	"github.com/valyala/fasthttp"
)

// subscriberBits is the IPv6 network that one client has to itself (RFC 6177).
const subscriberBits = 64

// within says whether an address is in one of the networks.
func within(a netip.Addr, networks []netip.Prefix) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(a) })
}

// addressOf is the IP address of a connection's end, the zero Addr where it has none.
func addressOf(end net.Addr) netip.Addr {
	if tcp, ok := end.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

// clientAddress is who sent a request: the peer of its connection, or behind trusted proxies the last address in
// X-Forwarded-For that is none of theirs. What stands left of it, and what a peer that is not trusted sends, anyone may
// have written. It is for the cold paths.
func (s *Server) clientAddress(ctx *fasthttp.RequestCtx) netip.Addr {
	client := addressOf(ctx.RemoteAddr())
	if !within(client, s.cfg.TrustedProxies) {
		return client
	}
	list := bytes.Join(ctx.Request.Header.PeekAll(fasthttp.HeaderXForwardedFor), []byte(","))
	for len(list) > 0 {
		comma := bytes.LastIndexByte(list, ',')
		named, ok := parseForwarded(string(bytes.TrimSpace(list[comma+1:])))
		if !ok {
			return client // of the proxy that did not know better
		}
		client = named
		if !within(client, s.cfg.TrustedProxies) {
			return client
		}
		list = list[:max(comma, 0)]
	}
	return client
}

// parseForwarded reads an address of X-Forwarded-For, to which some proxies add the port.
func parseForwarded(text string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Unmap().WithZone(""), true
	}
	a, err := netip.ParseAddrPort(text)
	return a.Addr().Unmap().WithZone(""), err == nil
}
