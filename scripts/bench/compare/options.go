package compare

import (
	"flag"
	"fmt"
	"math"
	"strconv"
	"strings"

	"flashsale/internal/catalog"
	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/sale"
)

const (
	ordersDefault = 20_000
	roundsMax     = 1000
	numbersMax    = 64 // in one option
)

// Options are the settings of a comparison.
type Options struct {
	Load          load.Options // of each run
	Concurrencies []int        // buyers at once; each gives a table
	Rounds        int          // runs of each side
	Sides         []Side
	Catalog       catalog.Config

	// Flags that Resolve takes apart.
	concurrencies, vsServers, vsPids string
}

// Register adds the flags of a comparison.
func (o *Options) Register(fs *flag.FlagSet) {
	o.Load.Register(fs, "concurrency")
	sale.RegisterBuiltIn(fs, &o.Catalog)
	orders := fs.Lookup("orders")
	o.Load.Orders, orders.DefValue, orders.Usage = ordersDefault, strconv.Itoa(ordersDefault),
		"orders of each run"
	fs.StringVar(&o.concurrencies, "concurrency", "1000",
		"buyers at once, `number[,number...]`; each gives a table")
	fs.IntVar(&o.Rounds, "rounds", 5, "runs of each side")
	fs.StringVar(&o.vsServers, "vs-url", "", "a server that runs already as one more side, "+
		"`host:port[,host:port...]`")
	fs.StringVar(&o.vsPids, "vs-pids", "", "its processes on this machine, `number[,number...]`, "+
		"children are found")
}

// Resolve takes the sides and the lists apart and checks the limits. Its errors are an ErrUsage.
func (o *Options) Resolve(sides string, given map[string]bool) (err error) {
	if o.Sides, err = parseSides(sides); err != nil {
		return err
	}
	if o.Concurrencies, err = splitNumbers("concurrency", o.concurrencies, load.ConcurrencyMax); err != nil {
		return err
	}
	o.Load.Concurrency = o.Concurrencies[0]
	if o.Rounds < 1 || o.Rounds > roundsMax {
		return fmt.Errorf("%w: -rounds %d is not within 1 to %d", sale.ErrUsage, o.Rounds, roundsMax)
	}
	if err := o.addForeign(); err != nil {
		return err
	}
	if len(o.Sides) < 2 {
		return fmt.Errorf("%w: compare needs two sides or more, such as %q", sale.ErrUsage,
			"floor | product")
	}
	return o.Load.Resolve(given)
}

// addForeign adds the server of -vs-url as a side.
func (o *Options) addForeign() (err error) {
	if o.vsServers == "" && o.vsPids == "" {
		return nil
	}
	foreign := Side{text: "server at " + o.vsServers}
	if foreign.servers, err = sale.SplitServers("vs-url", o.vsServers); err != nil {
		return err
	}
	foreign.pids, err = splitNumbers("vs-pids", o.vsPids, math.MaxInt32)
	o.Sides = append(o.Sides, foreign)
	return err
}

// splitNumbers reads numbers from 1 to most.
func splitNumbers(name, text string, most int) ([]int, error) {
	var numbers []int
	for word := range strings.SplitSeq(text, ",") {
		number, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("%w: -%s %q is not a number", sale.ErrUsage, name, word)
		}
		if number < 1 || number > most {
			return nil, fmt.Errorf("%w: -%s %d is not within 1 to %d", sale.ErrUsage, name, number, most)
		}
		numbers = append(numbers, number)
	}
	if len(numbers) > numbersMax {
		return nil, fmt.Errorf("%w: -%s has %d numbers, at most %d", sale.ErrUsage, name,
			len(numbers), numbersMax)
	}
	return numbers, nil
}
