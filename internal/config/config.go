// Package config holds every setting of the server: one struct, one file per group of flags. A group's
// file has the settings, their flags with defaults and ranges, and all further checks. -h lists them all
// (testdata/help.txt).
//
// Each flag has an environment name: the flag's name in capitals with _ for -, which gives the contest's
// names (APP_PORT, REDIS_HOST, DB_PASS, ...). A flag wins over the environment.
package config

import (
	"errors"
	"io"
	"net/netip"
	"strings"
)

// Config is the effective configuration.
type Config struct {
	listeningFlags
	protectionFlags
	limitsFlags
	storeFlags
	catalogFlags
	tokenFlags
	operatorFlags
	oidcFlags
	saleFlags
	rulesFlags
	paymentFlags
	ledgerFlags
	eventsFlags
	repeatsFlags
	blocklistFlags
	opsFlags
	trafficFlags
	pageFlags
	liveFlags
	chatFlags
	loggingFlags

	flags *Flags
}

const usage = `flashsale opens a sale over HTTP.
flashsale audit, with the same flags, compares the orders and messages in Redis with the database of -ledger,
and the stock with the orders.
flashsale account list|reset|close, with the same flags, looks after registered users (flashsale account -h).
flashsale operator add|passwd|totp|remove|list keeps the list of the people who run the sale.
flashsale sale status|open|pause|close|restock|log|orders|events|sums|export|new, with the same flags, runs
a sale.
flashsale check-store, with the same flags, looks at all nodes of Redis and tells what would lose orders.
flashsale status [-ops address] [-watch [interval]] shows how the sale goes.
flashsale unlock NAME, with the same flags, lets a user log in again after too many failed logins.
flashsale -version prints the build of this program.
A flag wins over its environment name, which stands in brackets.
`

// Parse reads the arguments (without the program's name) and the environment. The error is one line; it
// is flag.ErrHelp after the help was written to out.
func Parse(args []string, out io.Writer) (*Config, error) {
	c := newConfig()
	err := c.flags.Parse(args, out, usage)
	if err != nil && strings.HasPrefix(err.Error(), "flag provided but not defined: -version ") {
		return nil, errors.New("-version stands alone: flashsale -version prints which build this is")
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// newConfig returns the defaults. The flags that own adds for a command come first.
func newConfig(own ...func(*Flags)) *Config {
	c := &Config{flags: NewFlags("flashsale")}
	for _, add := range own {
		add(c.flags)
	}
	c.listeningFlags.add(c.flags)
	c.protectionFlags.add(c.flags)
	c.limitsFlags.add(c.flags)
	c.storeFlags.add(c.flags)
	c.catalogFlags.add(c.flags)
	c.tokenFlags.add(c.flags)
	c.operatorFlags.add(c.flags)
	c.oidcFlags.add(c.flags)
	c.saleFlags.add(c.flags, &c.Redis)
	c.paymentFlags.add(c.flags, &c.Redis)
	c.ledgerFlags.add(c.flags)
	c.eventsFlags.add(c.flags)
	c.repeatsFlags.add(c.flags)
	c.blocklistFlags.add(c.flags)
	c.rulesFlags.add(c.flags)
	c.opsFlags.add(c.flags)
	c.trafficFlags.add(c.flags)
	c.pageFlags.add(c.flags)
	c.liveFlags.add(c.flags)
	c.chatFlags.add(c.flags, &c.Catalog)
	c.loggingFlags.add(c.flags)
	return c
}

// String lists the settings that differ from their default, secrets masked, for the log.
func (c *Config) String() string { return c.flags.String() }

// Guessable reports whether people on other machines can log in as the built-in users, who have known
// passwords, when the server listens on this host:port.
func (c *Config) Guessable(address string) bool {
	return c.Catalog.BuiltIn() && c.Catalog.Users > 1 && !isLoopback(address)
}

// PushHidden reports whether people on other machines reach the sale, but not the push service, when they
// listen on these host:ports.
func (c *Config) PushHidden(sale, push string) bool {
	return c.Chat && c.PushURL == "" && isLoopback(push) && !isLoopback(sale)
}

// isLoopback reports whether only this machine can reach a host:port.
func isLoopback(address string) bool {
	listens, err := netip.ParseAddrPort(address)
	return err == nil && listens.Addr().IsLoopback()
}

// WorkerConns is each worker's share of MaxConns, at least 1; 0 is no limit.
func (c *Config) WorkerConns() int {
	if c.MaxConns == 0 {
		return 0
	}
	return max(c.MaxConns/c.Workers, 1)
}
