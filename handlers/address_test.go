package handlers

import (
	"net"
	"net/netip"
	"testing"

	"github.com/valyala/fasthttp"
)

// The header is read as listener.ClientAddress wants it: several make one list.
func TestClientAddress(t *testing.T) {
	s := &Server{cfg: Config{TrustedProxies: []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"),
	}}}
	for _, test := range []struct {
		name, peer, want string
		forwarded        []string
	}{
		{"no proxy", "203.0.113.5", "203.0.113.5", nil},
		{"a peer that is not trusted", "203.0.113.5", "203.0.113.5", []string{"198.51.100.1"}},
		{"one proxy", "10.0.0.1", "198.51.100.1", []string{"198.51.100.1"}},
		{"in headers of their own", "10.0.0.1", "198.51.100.1",
			[]string{"1.1.1.1", " 198.51.100.1", "10.0.0.2"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var request fasthttp.Request
			for _, list := range test.forwarded {
				request.Header.Add("X-Forwarded-For", list)
			}
			var ctx fasthttp.RequestCtx
			peer := net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(test.peer), 1))
			ctx.Init(&request, peer, nil)
			if got := s.clientAddress(&ctx).String(); got != test.want {
				t.Errorf("client %s, want %s", got, test.want)
			}
		})
	}
}
