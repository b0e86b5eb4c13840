package app

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"flashsale/internal/config"
	"flashsale/internal/rooms/operators"
	"flashsale/internal/rooms/push"
)

// printBanner shows what was started and how to use it.
func (s *supervisor) printBanner(out io.Writer) {
	sale := s.serving()
	scheme, curl, state := "http://", "curl", "goes on"
	if s.cfg.TLSCert != "" {
		scheme, curl = "https://", "curl -k" // the certificate rarely names this address
	}
	if sale.fresh {
		state = "opened now"
	}
	if opens := sale.times.OpensAt; !opens.IsZero() {
		state = "opens at " + momentText(opens)
	}
	if closes := sale.times.ClosesAt; !closes.IsZero() {
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
	line("sale", "%s, %s", sale.Sale, state)
	line("catalogue", "%s", s.catalogue())
	line("store", "%s", s.store.description)
	if text := operatorsText(s.cfg, sale); text != "" {
		line("operators", "%s", text)
	}
	if s.database != nil {
		line("ledger", "every order goes to %s", s.database)
	}
	if s.cfg.TokenSecret == "" {
		line("tokens", "signed with the secret in %s; servers of one sale must share TOKEN_SECRET", s.cfg.DataDir)
	}
	if address := s.processes.Address(pushRole); address != "" {
		line("push", "%s%s%s, for clients of Centrifugo's protocol; GET /push has the ticket",
			strings.Replace(scheme, "http", "ws", 1), address, push.Path)
	}
	if s.opsListener != nil {
		line("metrics", "http://%s/metrics", s.opsListener.Addr())
	}
	line("settings", "%s", s.settings)
	line("try", "%s %s/login -d %s", curl, url, s.login(isTerminal(out)))
	line("stop", "Ctrl-C or kill %d; kill -HUP %[1]d reads users, operators, certificate, limits, "+
		"payment secrets, webhooks, VK groups, blocklist and rules again and replaces the workers",
		os.Getpid())
}

// operatorsText tells who runs the sale, "" where that is root alone.
func operatorsText(cfg *config.Config, sale *opening) string {
	found := sale.rooms[operatorsRoom.name].(operatorList)
	switch {
	case found.Source == "" && !cfg.RootOff:
		return ""
	case found.Source == "":
		return "none; root is a user like others"
	}
	text := fmt.Sprintf("%d from %s", len(found.List), operators.Describe(found.Source))
	if cfg.RootOff {
		return text + "; root is a user like others"
	}
	return text + ", and root"
}

// catalogue returns the source and the size of the catalogue.
func (s *supervisor) catalogue() string {
	sale := s.serving()
	source := sale.source.Source()
	if !sale.source.BuiltIn() {
		source += fmt.Sprintf(" (%d users, %d foods)", sale.catalog.Users(), len(sale.catalog.Foods()))
	}
	return source
}

// login returns the body of a login that works, quoted for a shell. Only a terminal shows root's password:
// other people may read a file later.
func (s *supervisor) login(terminal bool) string {
	sale := s.serving()
	const body = `'{"username":"%s","password":"%s"}'`
	switch {
	case sale.randomRoot && terminal:
		return fmt.Sprintf(body, "root", sale.source.RootPassword)
	case sale.randomRoot:
		file := strings.ReplaceAll(s.folder.RootPasswordPath(), `'`, `'\''`)
		return fmt.Sprintf(`"{\"username\":\"root\",\"password\":\"$(cat '%s')\"}"`, file)
	case sale.source.BuiltIn() && sale.source.Users > 1:
		return fmt.Sprintf(body, "user2", "pass2")
	}
	where := "is that of -root-password (ROOT_PASSWORD)"
	switch {
	case sale.source.RootPassword != "": // it counts in place of the source's
	case sale.source.Dir != "":
		where = "stands in users.csv"
	case !sale.source.BuiltIn():
		where = "stands in the table user"
	}
	return fmt.Sprintf(body, "root", "...") + " # the password " + where
}

// isTerminal reports whether out is a terminal.
func isTerminal(out io.Writer) bool {
	file, isFile := out.(*os.File)
	return isFile && term.IsTerminal(int(file.Fd()))
}
