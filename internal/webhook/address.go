package webhook

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// ErrPrivate refuses an address that is not public.
var ErrPrivate = errors.New("the address is not public")

// notPublic are the addresses that IANA does not list as globally reachable. Sources: the registries
// iana.org/assignments/iana-ipv4-special-registry, iana-ipv6-special-registry, ipv6-address-space and
// multicast-addresses. The few services within 192.0.0.0/24 and 2001::/23 that are reachable take no posts.
var notPublic = prefixes(
	"0.0.0.0/8",       // this network
	"10.0.0.0/8",      // private
	"100.64.0.0/10",   // behind a provider's NAT
	"127.0.0.0/8",     // loopback
	"169.254.0.0/16",  // link-local
	"172.16.0.0/12",   // private
	"192.0.0.0/24",    // protocol assignments
	"192.0.2.0/24",    // documentation
	"192.88.99.0/24",  // relays of 6to4, given up
	"192.168.0.0/16",  // private
	"198.18.0.0/15",   // benchmarks
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"224.0.0.0/4",     // multicast
	"240.0.0.0/4",     // reserved, and broadcast

	"::/3",          // loopback, IPv4 in IPv6, discard-only, local NAT64, reserved
	"2001::/23",     // protocol assignments, Teredo
	"2001:db8::/32", // documentation
	"2002::/16",     // 6to4, which leads to an IPv4 address
	"3fff::/20",     // documentation
	"4000::/2",      // reserved, segment routing
	"8000::/1",      // reserved, unique local, link-local, multicast
)

// nat64 leads to the IPv4 address in its last four bytes (RFC 6052).
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

func prefixes(texts ...string) (list []netip.Prefix) {
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

// refusePrivate refuses a connection to an address that is not public.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("cannot read the address %q: %w", address, err)
	}
	ip := to.Addr().Unmap().WithZone("") // no prefix contains an address with a zone
	if nat64.Contains(ip) {
		bytes := ip.As16()
		ip = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	for _, prefix := range notPublic {
		if prefix.Contains(ip) {
			return fmt.Errorf("%w: %s", ErrPrivate, to.Addr())
		}
	}
	return nil
}
