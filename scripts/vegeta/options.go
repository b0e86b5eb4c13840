package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strings"

	"flashsale/internal/catalog"
	"flashsale/internal/config"
)

// steps are the requests of the flow; each needs the results of the steps before it.
var steps = []string{"login", "foods", "carts", "adds", "orders"}

// countMax bounds the targets, which vegeta keeps in memory.
const countMax = 1_000_000

const usage = `vegeta writes targets of one step of the contest's flow, each of another user.
A flag wins over its environment name, which stands in brackets.
`

type options struct {
	addr    string // host:port
	step    string // one of steps
	count   int
	first   int // lowest user id
	catalog catalog.Config
}

// parseOptions reads flags first, then the environment. After -h it writes the usage to help and returns
// flag.ErrHelp.
func parseOptions(arguments []string, help io.Writer) (options, error) {
	var opt options
	flags := config.NewFlags("vegeta")
	flags.Group("Targets")
	flags.Text(&opt.addr, "addr", "127.0.0.1:8080", "server of the sale, `host:port`")
	flags.Text(&opt.step, "step", "", "`step` to write targets of: "+strings.Join(steps, ", "))
	flags.Number(&opt.count, "count", 1000, 1, countMax,
		"`number` of targets, each of another user; vegeta starts over after the last")
	flags.Number(&opt.first, "first", 2, 2, math.MaxUint32,
		"lowest user `id` to take; those who have an order already cannot order again")
	flags.Group("Catalogue, as for the server")
	flags.Catalog(&opt.catalog)
	flags.Check(func() error {
		if host, port, err := net.SplitHostPort(opt.addr); err != nil || host == "" || port == "" {
			return fmt.Errorf("-addr is %q; it must be host:port", opt.addr)
		}
		if !slices.Contains(steps, opt.step) {
			return fmt.Errorf("-step is %q; it must be one of %s", opt.step, strings.Join(steps, ", "))
		}
		if opt.catalog.RootPassword == "" && opt.catalog.BuiltIn() {
			opt.catalog.RootPassword = rand.Text() // the catalogue needs one; root is not used
		}
		return nil
	})
	err := flags.Parse(arguments, help, usage)
	return opt, err
}

// readBuyers picks count users from the catalogue, from the id -first on and in the catalogue's order, and
// returns the foods.
func readBuyers(ctx context.Context, opt options) ([]catalog.User, []catalog.Food, error) {
	var buyers []catalog.User
	foods, err := catalog.Read(ctx, opt.catalog, func(user catalog.User) error {
		if int(user.ID) >= opt.first && len(buyers) < opt.count {
			buyers = append(buyers, user)
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
	return buyers, foods, nil
}
