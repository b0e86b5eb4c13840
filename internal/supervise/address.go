package supervise

import (
	"net"
	"net/netip"
)

// network is the network to listen on. With "tcp" 0.0.0.0 would be every address, of IPv6 too.
func network(address string) string {
	if at, err := netip.ParseAddrPort(address); err == nil && at.Addr().Is4() {
		return "tcp4"
	}
	return "tcp"
}

// Reachable returns the addresses to which clients of a role can connect, as host:port: 127.0.0.1 and the
// machine's own addresses where the role listens on all of them, otherwise its Address.
func (s *Supervisor) Reachable(role string) []string {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return reachable(s.Address(role), nil) // the machine's addresses are only for the reader's convenience
	}
	return reachable(s.Address(role), addresses)
}

func reachable(address string, machine []net.Addr) []string {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !at.Addr().IsUnspecified() {
		return []string{address}
	}
	port := func(ip netip.Addr) string { return netip.AddrPortFrom(ip, at.Port()).String() }
	list := []string{port(netip.AddrFrom4([4]byte{127, 0, 0, 1}))}
	for _, own := range machine {
		network, err := netip.ParsePrefix(own.String())
		if ip := network.Addr(); err == nil && ip.IsGlobalUnicast() && (ip.Is4() || at.Addr().Is6()) {
			list = append(list, port(ip))
		}
	}
	return list
}
