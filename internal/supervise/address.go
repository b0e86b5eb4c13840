package supervise

import (
	"net"
	"net/netip"
)

// network returns the network to listen on. With "tcp", 0.0.0.0 would include all IPv6 addresses.
func network(address string) string {
	if at, err := netip.ParseAddrPort(address); err == nil && at.Addr().Is4() {
		return "tcp4"
	}
	return "tcp"
}

// Reachable returns the addresses at which clients can connect to a role, as host:port. If the role listens
// on all addresses, these are 127.0.0.1 and the machine's own; otherwise it is the role's Address.
func (s *Supervisor) Reachable(role string) []string {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return reachable(s.Address(role), nil) // without the machine's addresses the rest still works
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
