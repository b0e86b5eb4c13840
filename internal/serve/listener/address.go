package listener

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// subscriberBits is the size of the IPv6 network that one client has to itself (RFC 6177).
const subscriberBits = 64

// proxiesMax limits the addresses that are read: a client in a trusted network may send hundreds.
const proxiesMax = 16

// ClientAddress returns the address of a request's client: the peer of the connection or, behind trusted
// proxies, the last address of the list that is no trusted proxy. The list is X-Forwarded-For, several
// headers joined by commas. Anyone may have written the addresses before that one, and the whole list of a
// peer that is not trusted. At most proxiesMax addresses are read.
func ClientAddress(peer netip.Addr, forwarded string, trusted []netip.Prefix) netip.Addr {
	client := peer
	for hop := 0; hop < proxiesMax && forwarded != "" && Within(client, trusted); hop++ {
		comma := strings.LastIndexByte(forwarded, ',')
		named, ok := parseForwarded(strings.TrimSpace(forwarded[comma+1:]))
		if !ok {
			return client // the rest is unreadable
		}
		client, forwarded = named, forwarded[:max(comma, 0)]
	}
	return client
}

// AddressOf returns the IP address of a connection's end, the zero Addr without one.
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

// ShareOf is how many of some places one client address may have where no number is given. A quarter stays
// for the others. A single machine that brings the load of a whole contest stays far below it.
func ShareOf(places int) int { return max(places*3/4, 1) }

// Subscriber returns the part of an address that stands for one client: the IPv4 address, or the IPv6
// network, in which the client may choose any address.
func Subscriber(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if !a.Is6() {
		return a
	}
	return netip.PrefixFrom(a, subscriberBits).Masked().Addr()
}

// parseForwarded reads an address of X-Forwarded-For. Some proxies add the port.
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
