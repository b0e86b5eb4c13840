package config

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

const connsMax = 10_000_000

type protectionFlags struct {
	TLSCert, TLSKey string // names of PEM files, "" for plain HTTP
	MaxConns        int    // of all workers together; 0 is no limit
	MaxConnsPerIP   int    // of one client address to one worker; 0: see listener.ShareOf
	TrustedProxies  []netip.Prefix

	proxies string // TrustedProxies as they were given
}

func (c *protectionFlags) add(f *Flags) {
	f.Group("Protection")
	f.Text(&c.TLSCert, "tls-cert", "", "`file` with a certificate chain in PEM: serve HTTPS; SIGHUP reads it "+
		"again")
	f.Text(&c.TLSKey, "tls-key", "", "`file` with its key in PEM")
	f.Check(func() error {
		if (c.TLSCert == "") != (c.TLSKey == "") {
			return errors.New("only one of -tls-cert and -tls-key is set; set both, or none for plain HTTP")
		}
		return nil
	})
	f.Number(&c.MaxConns, "max-conns", 20_000, 0, connsMax,
		"most `connections` at once, in equal shares for the workers, and as many again at -push-address; "+
			"0 is no limit")
	f.Number(&c.MaxConnsPerIP, "max-conns-per-ip", 0, 0, connsMax,
		"most `connections` at once of a client address to each worker, trusted proxies excepted; 0 is three "+
			"quarters of the worker's share, this machine excepted")
	f.Text(&c.proxies, "trusted-proxies", "",
		"`addresses` and networks of proxies, as 10.0.0.1,fd00::/8: their X-Forwarded-For and "+
			"X-Request-Id are believed")
	f.Check(func() (err error) {
		c.TrustedProxies, err = parseNetworks("-trusted-proxies", c.proxies)
		return err
	})
}

// parseNetworks reads the list of a flag.
func parseNetworks(flag, list string) (networks []netip.Prefix, err error) {
	for text := range strings.FieldsFuncSeq(list, func(c rune) bool { return c == ',' || c == ' ' }) {
		network, err := netip.ParsePrefix(text)
		if address, single := netip.ParseAddr(text); single == nil {
			network, err = address.Prefix(address.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("%s has %q; it must list addresses or networks, "+
				"as 10.0.0.1,fd00::/8", flag, text)
		}
		networks = append(networks, network)
	}
	return networks, nil
}
