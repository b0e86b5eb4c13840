package listener

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// subscriberBits is the IPv6 network that one client has to itself (RFC 6177).
const subscriberBits = 64

// proxiesMax is more proxies than a request passes. A client within a trusted network may send a list of
// hundreds.
const proxiesMax = 16

// ClientAddress returns who sent a request: the peer of its connection, or behind trusted proxies the last
// address of the list that is not one of them. The list is X-Forwarded-For, several headers joined by
// commas. Anyone may have written what stands left of that address, and all that a peer sends which is not
// trusted. At most proxiesMax addresses are looked at.
func ClientAddress(peer netip.Addr, forwarded string, trusted []netip.Prefix) netip.Addr {
	client := peer
	for hop := 0; hop < proxiesMax && forwarded != "" && Within(client, trusted); hop++ {
		comma := strings.LastIndexByte(forwarded, ',')
		named, ok := parseForwarded(strings.TrimSpace(forwarded[comma+1:]))
		if !ok {
			return client // the last proxy did not know better
		}
		client, forwarded = named, forwarded[:max(comma, 0)]
	}
	return client
}

// AddressOf returns the IP address of a connection's end, the zero Addr where it has none.
func AddressOf(end net.Addr) netip.Addr {
	if tcp, ok := end.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

// Within reports whether an address is in one of the networks.
func Within(a netip.Addr, networks []netip.Prefix) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(a) })
}

// Subscriber returns what one client has of an address: with IPv4 the address, with IPv6 the network, in
// which the client may choose any address.
func Subscriber(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if !a.Is6() {
		return a
	}
	return netip.PrefixFrom(a, subscriberBits).Masked().Addr()
}

// parseForwarded reads an address of X-Forwarded-For, to which some proxies add the port.
func parseForwarded(text string) (netip.Addr, bool) {
	const longest = len("[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255%123456789012345]:65535") // IFNAMSIZ
	if len(text) > longest {
		return netip.Addr{}, false
	}
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Unmap().WithZone(""), true
	}
	a, err := netip.ParseAddrPort(text)
	return a.Addr().Unmap().WithZone(""), err == nil
}
