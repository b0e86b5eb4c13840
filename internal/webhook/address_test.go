package webhook

import (
	"errors"
	"net"
	"testing"
)

func TestRefusePrivate(t *testing.T) {
	for address, private := range map[string]bool{
		"1.1.1.1": false, "100.63.255.255": false, "172.32.0.1": false, "192.0.1.1": false,
		"223.255.255.255": false,
		"0.0.0.0":         true, "0.1.2.3": true, "10.0.0.7": true, "100.64.0.1": true, "127.0.0.2": true,
		"169.254.169.254": true, "172.31.0.1": true, "192.0.0.8": true, "192.0.2.1": true, "192.88.99.1": true,
		"192.168.0.1": true, "198.19.0.1": true, "198.51.100.1": true, "203.0.113.1": true, "224.0.0.1": true,
		"240.0.0.1": true, "255.255.255.255": true,
		"2606:4700::1111": false, "2a00::1": false, "2001:200::1": false, "64:ff9b::1.1.1.1": false,
		"::ffff:1.1.1.1": false,
		"::":             true, "::1": true, "::7f00:1": true, "::ffff:10.0.0.7": true, "64:ff9b::10.0.0.7": true,
		"64:ff9b:1::1": true, "100::1": true, "2001::1": true, "2001:db8::1": true, "2001:db8::1%eth0": true,
		"2002:a00:7::1": true, "3fff::1": true, "5f00::1": true, "fd00::1": true, "fe80::1%eth0": true,
		"fec0::1": true, "ff02::1": true,
	} {
		err := refusePrivate("tcp", net.JoinHostPort(address, "443"), nil)
		if errors.Is(err, ErrPrivate) != private || !private && err != nil {
			t.Errorf("%s: %v, private %t", address, err, private)
		}
	}
}
