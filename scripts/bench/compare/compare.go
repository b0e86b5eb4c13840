// Package compare starts servers and sets what an order costs each of them against the others.
//
// The sides run in turn, A B C A B C ..., each time with a new server, a new Redis and an audit. Bare HTTP
// is the floor below which no server built on fasthttp can fall (floor.go); bare epoll is the one for any
// server (kernel.go).
package compare

import (
	"context"
	"fmt"
	"io"
	"os"

	"flashsale/internal/catalog"
	"flashsale/internal/testkit/launch"
	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/sale"
)

// comparison runs the sides in turn and sets what each costs against the first. The sides of a round run
// within the same minute, so that a machine shared with others disturbs all of them and the ratios by round
// stay true.
type comparison struct {
	opt     Options
	sale    *sale.Sale
	folder  string // of everything that is started
	product string // path of the built server
	used    int    // users that foreign sides, which are never fresh, have seen
	stderr  io.Writer
}

// Run compares.
func Run(ctx context.Context, opt Options, stderr io.Writer) (*Report, error) {
	c := &comparison{opt: opt, stderr: stderr}
	if err := c.sizeCatalogue(); err != nil {
		return nil, err
	}
	var err error
	if c.sale, err = sale.Read(ctx, c.opt.Catalog); err != nil {
		return nil, err
	}
	for _, s := range opt.Sides {
		if err := s.exists(); err != nil {
			return nil, err
		}
	}
	if c.folder, err = os.MkdirTemp("", "bench"); err != nil {
		return nil, fmt.Errorf("cannot make folder: %w", err)
	}
	defer os.RemoveAll(c.folder)
	for _, s := range opt.Sides {
		if s.program == productProgram {
			if c.product, err = launch.Build(ctx, launch.ServerSource); err != nil {
				return nil, err
			}
			break
		}
	}
	rep := &Report{Seed: opt.Load.Seed, Rounds: opt.Rounds, Orders: opt.Load.Orders, Idle: opt.Load.Idle}
	for _, concurrency := range opt.Concurrencies {
		table, err := c.table(ctx, concurrency)
		if err != nil {
			return nil, err
		}
		rep.Tables = append(rep.Tables, table)
	}
	return rep, nil
}

// sizeCatalogue raises the built-in catalogue so that every flow of a run finds a user and no food sells
// out. A foreign server has the users it has: too few of them are an ErrUsage.
func (c *comparison) sizeCatalogue() error {
	most, foreign := 0, 0
	for _, concurrency := range c.opt.Concurrencies {
		run := c.users(concurrency)
		most, foreign = max(most, run), foreign+c.opt.Rounds*run
	}
	for _, s := range c.opt.Sides {
		if s.foreign() && c.opt.Catalog.Users <= foreign {
			return fmt.Errorf("%w: the server of -vs-url needs %d users who never bought, and root, in %d "+
				"rounds; give them to it and say so by -users, or lower -orders or -rounds (-users is %d)",
				sale.ErrUsage, foreign, c.opt.Rounds, c.opt.Catalog.Users)
		}
	}
	c.opt.Catalog = sale.BuiltIn(c.opt.Catalog, most)
	return nil
}

// load is the load of a run by so many buyers at once.
func (c *comparison) load(concurrency int) load.Options {
	opt := c.opt.Load
	opt.Concurrency = concurrency
	return opt
}

// users is the number of users that a run takes.
func (c *comparison) users(concurrency int) int {
	return c.opt.Load.Orders + warmup(c.load(concurrency))
}

// table runs all rounds with so many buyers at once.
func (c *comparison) table(ctx context.Context, concurrency int) (Table, error) {
	opt := c.load(concurrency)
	n := c.users(concurrency)
	trials := make([][]Trial, len(c.opt.Sides))
	for round := range c.opt.Rounds {
		for i := range c.opt.Sides {
			s := &c.opt.Sides[i]
			own, err := s.load(opt)
			if err != nil {
				return Table{}, err
			}
			measured, err := c.try(ctx, s, own, c.pick(s, n))
			if err != nil {
				return Table{}, fmt.Errorf("round %d of side %q: %w", round+1, s.text, err)
			}
			measured.Round = round + 1
			trials[i] = append(trials[i], measured)
			fmt.Fprintf(c.stderr, "bench: %d buyers, round %d of %d: %7.0f orders/s, CPU %6.1f us/order  "+
				"%s\n",
				concurrency, round+1, c.opt.Rounds, measured.OrdersPerSecond, measured.CPU.Total, s.text)
		}
		c.used += n
	}
	return newTable(concurrency, c.opt.Sides, trials), nil
}

// pick takes n users, root not among them; a foreign side gets others in every round.
func (c *comparison) pick(s *Side, n int) []catalog.User {
	first := 1 // of the built-in users the first is root
	if s.foreign() {
		first += c.used
	}
	return c.sale.Users[first : first+n]
}
