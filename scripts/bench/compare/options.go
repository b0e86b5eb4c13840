package compare

import (
	"flag"
	"fmt"
	"strconv"
	"strings"

	"flashsale/internal/catalog"
	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/payment"
	"flashsale/scripts/bench/sale"
)

const ordersDefault = 20_000

// Options are the settings of a comparison.
type Options struct {
	Load          load.Options // of each run
	Payment       payment.Options
	Concurrencies []int // buyers at once; each gives a table
	Rounds        int   // runs of each side
	Sides         []Side
	Catalog       catalog.Config

	concurrencies string // Resolve takes it apart
}

// Register adds the flags of a comparison.
func (o *Options) Register(fs *flag.FlagSet) {
	o.Load.Register(fs, "concurrency")
	o.Payment.Register(fs)
	sale.RegisterBuiltIn(fs, &o.Catalog)
	orders := fs.Lookup("orders")
	o.Load.Orders, orders.DefValue, orders.Usage = ordersDefault, strconv.Itoa(ordersDefault),
		"orders of each run"
	fs.StringVar(&o.concurrencies, "concurrency", "1000",
		"buyers at once, `number[,number...]`; each gives a table")
	fs.IntVar(&o.Rounds, "rounds", 5, "runs of each side")
}

// Resolve takes the sides and the numbers of buyers apart and checks the limits. Its errors are an ErrUsage.
func (o *Options) Resolve(sides string, given map[string]bool) error {
	for text := range strings.SplitSeq(sides, "|") {
		s, err := ParseSide(text)
		if err != nil {
			return err
		}
		o.Sides = append(o.Sides, s)
	}
	for word := range strings.SplitSeq(o.concurrencies, ",") {
		number, err := strconv.Atoi(word)
		if err != nil {
			return fmt.Errorf("%w: -concurrency %q is not a number", sale.ErrUsage, word)
		}
		o.Load.Concurrency = number
		if err := o.Load.Resolve(given); err != nil {
			return err
		}
		o.Concurrencies = append(o.Concurrencies, number)
	}
	if err := o.Payment.Resolve(); err != nil {
		return err
	}
	if o.Rounds < 1 {
		return fmt.Errorf("%w: -rounds %d is less than 1", sale.ErrUsage, o.Rounds)
	}
	if len(o.Sides) < 2 {
		return fmt.Errorf("%w: compare needs two sides or more, such as %q", sale.ErrUsage, "floor | product")
	}
	return nil
}
