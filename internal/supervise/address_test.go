package supervise

import (
	"net"
	"slices"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

// hasIPv6 reports whether this machine has an IPv6 address to connect to.
func hasIPv6(t *testing.T) bool {
	t.Helper()
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Log("no IPv6 on this machine: ", err)
		return false
	}
	l.Close()
	return true
}

// 0.0.0.0 is IPv4 alone; :: and no host at all are both.
func TestUnspecifiedAddress(t *testing.T) {
	ipv6 := hasIPv6(t)
	for address, both := range map[string]bool{"0.0.0.0:0": false, "[::]:0": true, ":0": true} {
		if both && !ipv6 {
			continue
		}
		s, err := New(Config{Roles: []Role{saleWorkers(2, address)}})
		testkit.Must(t, err)
		defer s.Close()
		_, port, err := net.SplitHostPort(s.Address(saleRole))
		testkit.Must(t, err)
		for host, want := range map[string]bool{"127.0.0.1": true, "::1": both} {
			c, err := net.Dial("tcp", net.JoinHostPort(host, port))
			if (err == nil) != want {
				t.Errorf("%s: a connection to %s: %v, want %v", address, host, err, want)
			}
			if err == nil {
				c.Close()
			}
		}
		for _, reached := range s.Reachable(saleRole) { // also those of the machine
			c, err := net.Dial("tcp", reached)
			if err != nil {
				t.Errorf("%s: %v", address, err)
				continue
			}
			c.Close()
		}
		if first := s.Reachable(saleRole)[0]; first != "127.0.0.1:"+port {
			t.Errorf("%s: %s is named first", address, first)
		}
	}
}

func TestReachable(t *testing.T) {
	var machine []net.Addr
	for _, address := range []string{"127.0.0.1/8", "::1/128", "192.0.2.7/24", "169.254.1.1/16",
		"2001:db8::7/64", "fe80::1/64", "fd00::2/8"} {
		ip, mask, err := net.ParseCIDR(address)
		testkit.Must(t, err)
		machine = append(machine, &net.IPNet{IP: ip, Mask: mask.Mask})
	}
	for address, want := range map[string]string{
		"192.0.2.7:80": "192.0.2.7:80", "127.0.0.1:80": "127.0.0.1:80",
		"[::1]:80": "[::1]:80", "shop:80": "shop:80",
		"0.0.0.0:80": "127.0.0.1:80 192.0.2.7:80",
		"[::]:80":    "127.0.0.1:80 192.0.2.7:80 [2001:db8::7]:80 [fd00::2]:80",
	} {
		if got := reachable(address, machine); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
