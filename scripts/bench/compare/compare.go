// Package compare starts servers and compares what an order costs each of them.
//
// The sides run in turn, A B C A B C ..., each time with a new server, a new Redis and an audit. Bare HTTP
// is the floor (floor.go). A soak is one side under a long load (soak.go).
package compare

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"flashsale/internal/testkit/launch"
	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/sale"
)

// comparison runs the sides in turn and divides the cost of each by that of the first. The sides of a round
// run within the same minute: a busy machine disturbs all of them, and the ratios of a round stay true.
type comparison struct {
	opt     Options
	sale    *sale.Sale
	folder  string // of everything that is started
	product string // path of the built server
	stderr  io.Writer
}

// Run compares.
func Run(ctx context.Context, opt Options, stderr io.Writer) (*Report, error) {
	c := &comparison{opt: opt, stderr: stderr}
	most := 0 // of the flows of a run
	for _, concurrency := range opt.Concurrencies {
		most = max(most, opt.Load.Orders+warmup(c.load(concurrency)))
	}
	talkers := 0
	for _, s := range opt.Sides {
		talkers = max(talkers, s.talkers)
	}
	c.opt.Catalog = sale.BuiltIn(opt.Catalog, most+talkers)
	var err error
	if c.sale, err = sale.Read(ctx, c.opt.Catalog); err != nil {
		return nil, err
	}
	if c.folder, err = os.MkdirTemp("", "bench"); err != nil {
		return nil, fmt.Errorf("cannot make folder: %w", err)
	}
	defer os.RemoveAll(c.folder)
	if slices.ContainsFunc(opt.Sides, func(s Side) bool { return s.program == productProgram }) {
		if c.product, err = launch.Build(ctx, launch.ServerSource); err != nil {
			return nil, err
		}
	}
	rep := &Report{Seed: opt.Load.Seed, Rounds: opt.Rounds, Orders: opt.Load.Orders}
	for _, concurrency := range opt.Concurrencies {
		table, err := c.table(ctx, concurrency)
		if err != nil {
			return nil, err
		}
		rep.Tables = append(rep.Tables, table)
	}
	return rep, nil
}

// load is the load of a run by this number of buyers at once.
func (c *comparison) load(concurrency int) load.Options {
	opt := c.opt.Load
	opt.Concurrency = concurrency
	return opt
}

// table runs all rounds with this number of buyers at once.
func (c *comparison) table(ctx context.Context, concurrency int) (Table, error) {
	opt := c.load(concurrency)
	users := c.sale.Users[1 : 1+opt.Orders+warmup(opt)] // the first is root
	trials := make([][]Trial, len(c.opt.Sides))
	for round := range c.opt.Rounds {
		for i := range c.opt.Sides {
			s := &c.opt.Sides[i]
			measured, err := c.try(ctx, s, opt, users)
			if err != nil {
				return Table{}, fmt.Errorf("round %d of side %q: %w", round+1, s.text, err)
			}
			measured.Round = round + 1
			trials[i] = append(trials[i], measured)
			fmt.Fprintf(c.stderr, "bench: %d buyers, round %d of %d: %7.0f orders/s, CPU %6.1f us/order  "+
				"%s\n",
				concurrency, round+1, c.opt.Rounds, measured.OrdersPerSecond, measured.CPU.Total, s.text)
		}
	}
	return newTable(concurrency, c.opt.Sides, trials), nil
}
