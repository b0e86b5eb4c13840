package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/peterbourgon/ff/v3"

	"flashsale/internal/catalog"
	"flashsale/internal/config"
)

// countMax bounds the targets, which vegeta keeps in memory.
const countMax = 1_000_000

// rootID is the id of the administrator, who does not buy here.
const rootID = 1

type options struct {
	addr    string // host:port
	step    step
	count   int
	first   uint // lowest user id
	catalog catalog.Config
}

// parseOptions reads flags first, then the environment. After -h it writes the usage to help and returns
// flag.ErrHelp.
func parseOptions(arguments []string, help io.Writer) (options, error) {
	var opt options
	fs := flag.NewFlagSet("vegeta", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // a bad flag is reported once, by the caller
	fs.StringVar(&opt.addr, "addr", "127.0.0.1:8080", "server of the sale, `host:port`")
	stepName := fs.String("step", "", "`step` to write targets of: "+strings.Join(stepNames, ", "))
	fs.IntVar(&opt.count, "count", 1000,
		"`number` of targets, each of another user; vegeta starts over after the last")
	fs.UintVar(&opt.first, "first", rootID+1,
		"lowest user `id` to take; those who have an order already cannot order again")
	config.AddCatalog(fs, &opt.catalog)
	err := ff.Parse(fs, arguments, ff.WithEnvVars())
	if errors.Is(err, flag.ErrHelp) {
		fs.SetOutput(help)
		fs.Usage()
	}
	if err != nil {
		return opt, err
	}
	if fs.NArg() > 0 {
		return opt, fmt.Errorf("unexpected argument %q (-h lists all flags)", fs.Arg(0))
	}
	if opt.step, err = parseStep(*stepName); err != nil {
		return opt, err
	}
	if opt.catalog.RootPassword == "" && opt.catalog.BuiltIn() {
		opt.catalog.RootPassword = rand.Text() // the catalogue wants one; root is not used
	}
	return opt, opt.check()
}

func (o *options) check() error {
	if host, port, err := net.SplitHostPort(o.addr); err != nil || host == "" || port == "" {
		return fmt.Errorf("-addr is %q; it must be host:port", o.addr)
	}
	if o.count < 1 || o.count > countMax {
		return fmt.Errorf("-count is %d; it must be from 1 to %d", o.count, countMax)
	}
	if o.first <= rootID {
		return fmt.Errorf("-first is %d; it must be from %d on, user %d is root", o.first, rootID+1, rootID)
	}
	return nil
}

// readBuyers picks count users from the catalogue, from the id -first on and in the catalogue's order, and
// returns the foods.
func readBuyers(ctx context.Context, opt options) ([]buyer, []catalog.Food, error) {
	var buyers []buyer
	foods, err := catalog.Read(ctx, opt.catalog, func(user catalog.User) error {
		if uint(user.ID) >= opt.first && len(buyers) < opt.count {
			buyers = append(buyers, buyer{user: user})
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read catalogue: %w", err)
	}
	if len(buyers) < opt.count {
		return nil, nil, fmt.Errorf("-count is %d, but the catalogue has only %d users from id %d on; "+
			"ask for fewer or give the server's catalogue flags", opt.count, len(buyers), opt.first)
	}
	if len(foods) == 0 {
		return nil, nil, errors.New("the catalogue has no foods")
	}
	return buyers, foods, nil
}
