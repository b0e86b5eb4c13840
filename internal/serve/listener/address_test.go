package listener

import (
	"net"
	"net/netip"
	"strings"
	"testing"
)

func TestClientAddress(t *testing.T) {
	trusted := []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32"),
		netip.MustParsePrefix("fd00::/8"),
	}
	for _, test := range []struct {
		name, peer, want string
		forwarded        []string
	}{
		{"no proxy", "203.0.113.5", "203.0.113.5", nil},
		{"a peer that is not trusted", "203.0.113.5", "203.0.113.5", []string{"198.51.100.1"}},
		{"a neighbour of a trusted one", "192.0.2.8", "192.0.2.8", []string{"198.51.100.1"}},
		{"a proxy that says nothing", "10.0.0.1", "10.0.0.1", nil},
		{"one proxy", "10.0.0.1", "198.51.100.1", []string{"198.51.100.1"}},
		{"two proxies", "10.0.0.1", "198.51.100.1", []string{"198.51.100.1, 192.0.2.7"}},
		{"what the client wrote", "10.0.0.1", "198.51.100.1",
			[]string{"127.0.0.1, 10.9.9.9, 198.51.100.1"}},
		{"in headers of their own", "10.0.0.1", "198.51.100.1",
			[]string{"1.1.1.1", " 198.51.100.1", "10.0.0.2"}},
		{"only proxies", "10.0.0.1", "10.0.0.3", []string{"10.0.0.3,10.0.0.2"}},
		{"most proxies", "10.0.0.1", "198.51.100.1",
			[]string{"198.51.100.1" + strings.Repeat(",10.0.0.2", proxiesMax-1)}},
		{"proxies without end", "10.0.0.1", "10.0.0.2",
			[]string{"198.51.100.1" + strings.Repeat(",10.0.0.2", proxiesMax)}},
		{"garbage", "10.0.0.1", "10.0.0.2", []string{"198.51.100.1, unknown, 10.0.0.2"}},
		{"empty", "10.0.0.1", "10.0.0.1", []string{""}},
		{"trailing comma", "10.0.0.1", "10.0.0.1", []string{"198.51.100.1,"}},
		{"with port", "10.0.0.1", "198.51.100.1", []string{"198.51.100.1:4711"}},
		{"IPv6", "fd00::1", "2001:db8::1", []string{"2001:db8::1"}},
		{"IPv6 with port", "fd00::1", "2001:db8::1", []string{"[2001:db8::1]:4711, fd00::2"}},
		{"IPv4 in IPv6", "::ffff:10.0.0.1", "198.51.100.1", []string{"::ffff:198.51.100.1"}},
		{"zone", "fd00::1%eth0", "2001:db8::1", []string{"2001:db8::1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			peer := AddressOf(net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(test.peer),
				1)))
			if got := ClientAddress(peer, strings.Join(test.forwarded, ","),
				trusted); got.String() != test.want {
				t.Errorf("client %s, want %s", got, test.want)
			}
		})
	}
	if got := ClientAddress(AddressOf(&net.UnixAddr{}), "198.51.100.1", trusted); got.IsValid() {
		t.Errorf("a peer without an address is %s", got)
	}
}

func TestSubscriber(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::", "::1": "::",
	} {
		if got := Subscriber(netip.MustParseAddr(address)); got.String() != want {
			t.Errorf("subscriber %s of %s, want %s", got, address, want)
		}
	}
}
