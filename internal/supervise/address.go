package supervise

import (
	"net"
	"net/netip"
)

// network is what to listen with: "tcp" would make 0.0.0.0 every address, of IPv6 too.
func network(address string) string {
	if at, err := netip.ParseAddrPort(address); err == nil && at.Addr().Is4() {
		return "tcp4"
	}
	return "tcp"
}

// Reachable returns where clients can connect, as host:port: 127.0.0.1 and the machine's own addresses where
// it listens on all of them, otherwise its Address.
func (s *Supervisor) Reachable() []string {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return reachable(s.address, nil) // the machine's addresses are only for the reader's convenience
	}
	return reachable(s.address, addresses)
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
