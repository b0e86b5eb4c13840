// Command vegeta writes targets of one step of the contest's flow for the load generator of that name, in
// its JSON format:
//
//	go run ./scripts/vegeta -step orders -count 2000 |
//		vegeta attack -format=json -rate 1000 -duration 2s | vegeta report
//
// Each target is another user's. Before it writes targets, the command makes the calls that the step needs
// (logins, carts, and for orders one piece in each cart), so that the attack consists of the step only.
//
// It must not place an order itself. It is slow where it prepares: up to three requests for each target.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "vegeta:", err)
		os.Exit(1)
	}
}

// run prepares the buyers and writes one target of each, in the order of their ids.
func run(ctx context.Context, arguments []string, out, help io.Writer) error {
	opt, err := parseOptions(arguments, help)
	if err != nil {
		return err
	}
	buyers, foods, err := readBuyers(ctx, opt)
	if err != nil {
		return err
	}
	if err := prepare(ctx, opt.addr, opt.step, buyers, foods); err != nil {
		return err
	}
	food := func() int64 { return foods[rand.IntN(len(foods))].ID }
	return writeTargets(out, "http://"+opt.addr, opt.step, buyers, food)
}

// step is one kind of request of the flow; each needs the results of the steps before it.
type step int

const (
	stepLogin step = iota
	stepFoods
	stepCarts
	stepAdds
	stepOrders
)

var stepNames = []string{"login", "foods", "carts", "adds", "orders"}
