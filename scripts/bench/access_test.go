package main

import (
	"net"
	"strings"
	"testing"

	"flashsale/scripts/bench/load"
)

func TestLoadOverTLS(t *testing.T) {
	s := newShop(builtIn(t, 10, 1000), honest)
	address, caFile := s.openTLS(t)
	for i, flags := range [][]string{{"-tls"}, {"-tls-ca", caFile}} {
		rep, stderr, code := bench(t, []string{address}, 10, 1000, append(flags, "-idle", "5")...)
		if code != 0 || rep.Load.Placed != 100 || len(rep.Load.Faults) != 0 ||
			*rep.Idle != (load.IdleReport{Opened: 5, Held: 5}) || len(s.orders) != 100*(i+1) {
			t.Fatalf("%v: exit %d: %s, load %+v, idle %+v", flags, code, stderr, rep.Load, rep.Idle)
		}
	}
}

func TestWrongTLSIsNamed(t *testing.T) {
	encrypted, _ := newShop(builtIn(t, 10, 1000), honest).openTLS(t)
	plain := newShop(builtIn(t, 10, 1000), honest).open(t)
	_, port, _ := net.SplitHostPort(encrypted)
	// the same certificate, which is for 127.0.0.1
	_, caFile := newShop(builtIn(t, 10, 1000), honest).openTLS(t)
	tests := map[string]struct {
		address string
		flags   []string
		code    int
		stderr  string
	}{
		"plain to TLS": {encrypted, nil, exitUsage, "bench: bad usage: " + encrypted +
			" speaks TLS and bench plain HTTP; add -tls\n"},
		"TLS to plain": {plain, []string{"-tls"}, exitUsage, "bench: bad usage: " + plain +
			" speaks plain HTTP and bench TLS; leave out -tls and -tls-ca\n"},
		"other certificate": {"localhost:" + port, []string{"-tls-ca", caFile}, exitUnreachable, "x509: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, stderr, code := bench(t, []string{test.address}, 10, 1000,
				test.flags...); code != test.code || !strings.Contains(stderr, test.stderr) {
				t.Errorf("exit %d, stderr %q", code, stderr)
			}
		})
	}
}
