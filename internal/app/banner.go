package app

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// printBanner shows what was started and how to use it.
func (s *supervisor) printBanner(out io.Writer) {
	scheme, curl, state := "http://", "curl", "goes on"
	if s.cfg.TLSCert != "" {
		scheme, curl = "https://", "curl -k" // the certificate is hardly for this address
	}
	if s.sale.fresh {
		state = "opened now"
	}
	if opens := s.sale.times.OpensAt; !opens.IsZero() {
		state = "opens at " + momentText(opens)
	}
	if closes := s.sale.times.ClosesAt; !closes.IsZero() {
		state += ", closes at " + momentText(closes)
	}
	addresses := s.processes.Reachable(saleRole)
	url, others := scheme+addresses[0], addresses[1:]
	fmt.Fprintf(out, "flashsale serves on %s (workers: %d)\n", url, s.cfg.Workers)
	line := func(name, format string, values ...any) {
		fmt.Fprintf(out, "  %-10s %s\n", name, fmt.Sprintf(format, values...))
	}
	if len(others) > 0 {
		line("also on", "%s%s", scheme, strings.Join(others, " "+scheme))
	}
	line("sale", "%s, %s", s.sale.Sale, state)
	line("catalogue", "%s", s.catalogue())
	line("store", "%s", s.store.description)
	if s.database != nil {
		line("ledger", "every order goes to %s", s.database)
	}
	if s.cfg.TokenSecret == "" {
		line("tokens", "signed with the secret in %s; servers of one sale must share TOKEN_SECRET", s.cfg.DataDir)
	}
	if s.opsListener != nil {
		line("metrics", "http://%s/metrics", s.opsListener.Addr())
	}
	line("settings", "%s", s.settings)
	line("try", "%s %s/login -d '%s'", curl, url, s.login())
	line("stop", "Ctrl-C or kill %d; kill -HUP %[1]d reads users, certificate, limits and blocklist again "+
		"and replaces the workers",
		os.Getpid())
}

// catalogue names the source of the catalogue and how large it is.
func (s *supervisor) catalogue() string {
	source := s.sale.source.Source()
	if !s.sale.source.BuiltIn() {
		source += fmt.Sprintf(" (%d users, %d foods)", s.sale.catalog.Users(), len(s.sale.catalog.Foods()))
	}
	return source
}

// login is the body of a login that works, as far as its password may be shown.
func (s *supervisor) login() string {
	switch {
	case s.sale.randomRoot:
		return fmt.Sprintf(`{"username":"root","password":"%s"}`, s.sale.source.RootPassword)
	case s.sale.source.BuiltIn() && s.sale.source.Users > 1:
		return `{"username":"user2","password":"pass2"}`
	}
	return `{"username":"root","password":"..."}`
}
