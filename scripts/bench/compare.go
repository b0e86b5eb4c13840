package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"flashsale/internal/catalog"
)

// comparison runs sides in turn, A B C A B C ..., and sets what each costs against the first. The sides of a round run
// within the same minute, so that a machine shared with others disturbs all of them and the ratios by round stay true.
type comparison struct {
	opt     options
	sale    sale
	folder  string // of everything that is started
	product string // path of the built server
	used    int    // users that foreign sides, which are never fresh, have seen
	stderr  io.Writer
}

// compare is the command with -compare.
func compare(ctx context.Context, opt options, stdout, stderr io.Writer) error {
	c := &comparison{opt: opt, stderr: stderr}
	if err := c.sizeCatalogue(); err != nil {
		return err
	}
	var err error
	if c.sale, err = readSale(ctx, c.opt); err != nil {
		return err
	}
	for _, s := range opt.sides {
		if err := s.exists(); err != nil {
			return err
		}
	}
	if c.folder, err = os.MkdirTemp("", "bench"); err != nil {
		return fmt.Errorf("cannot make folder: %w", err)
	}
	defer os.RemoveAll(c.folder)
	for _, s := range opt.sides {
		if s.program == productProgram {
			if c.product, err = buildProduct(ctx, c.folder); err != nil {
				return err
			}
			break
		}
	}
	rep := compareReport{Seed: opt.seed, Rounds: opt.rounds, Orders: opt.orders, Idle: opt.idle}
	for _, concurrency := range opt.concurrencies {
		table, err := c.table(ctx, concurrency)
		if err != nil {
			return err
		}
		rep.Tables = append(rep.Tables, table)
	}
	return rep.write(stdout, opt.json)
}

// sizeCatalogue raises the built-in catalogue so that every flow of a run finds a user and no food sells out. A foreign
// server has the users it has, so there too few are an errUsage.
func (c *comparison) sizeCatalogue() error {
	most, foreign := 0, 0
	for _, concurrency := range c.opt.concurrencies {
		run := c.users(concurrency)
		most, foreign = max(most, run), foreign+c.opt.rounds*run
	}
	for _, s := range c.opt.sides {
		if s.foreign() && c.opt.catalog.Users <= foreign {
			return fmt.Errorf("%w: the server of -vs-url needs %d users who never bought, and root, in %d rounds; "+
				"give them to it and say so by -users, or lower -orders or -rounds (-users is %d)", errUsage, foreign, c.opt.rounds, c.opt.catalog.Users)
		}
	}
	c.opt.catalog = enough(c.opt.catalog, most)
	return nil
}

// enough raises a built-in catalogue so that so many orders find a user each and no food sells out.
func enough(c catalog.Config, orders int) catalog.Config {
	c.Users = max(c.Users, orders+1) // and root
	// Two pieces an order, spread evenly: twice the mean and some is far above what chance can ask of one food.
	c.Stock = max(c.Stock, 4*orders/max(c.Foods, 1)+200)
	return c
}

// users is how many users a run takes.
func (c *comparison) users(concurrency int) int {
	opt := c.opt
	opt.concurrency = concurrency
	return opt.orders + warmup(opt)
}

// table runs all rounds with so many buyers at once.
func (c *comparison) table(ctx context.Context, concurrency int) (compareTable, error) {
	opt := c.opt
	opt.concurrency = concurrency
	n := c.users(concurrency)
	trials := make([][]trial, len(opt.sides))
	for round := range opt.rounds {
		for i := range opt.sides {
			s := &opt.sides[i]
			measured, err := c.try(ctx, s, opt, c.pick(s, n))
			if err != nil {
				return compareTable{}, fmt.Errorf("round %d of side %q: %w", round+1, s.text, err)
			}
			measured.Round = round + 1
			trials[i] = append(trials[i], measured)
			fmt.Fprintf(c.stderr, "bench: %d buyers, round %d of %d: %7.0f orders/s, CPU %6.1f us/order  %s\n",
				concurrency, round+1, opt.rounds, measured.OrdersPerSecond, measured.CPU.Total, s.text)
		}
		c.used += n
	}
	return newCompareTable(concurrency, opt.sides, trials), nil
}

// pick takes n users, root not among them; a foreign side gets others in every round.
func (c *comparison) pick(s *side, n int) []catalog.User {
	first := 1 // of the built-in users the first is root
	if s.foreign() {
		first += c.used
	}
	return c.sale.users[first : first+n]
}
