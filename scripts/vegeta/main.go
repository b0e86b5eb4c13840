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
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"flashsale/internal/catalog"
	"flashsale/internal/testkit/client"
)

const requestTimeout = 10 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "vegeta:", err)
		os.Exit(1)
	}
}

// run prepares each buyer, in the order of their ids, then writes one target of each.
func run(ctx context.Context, arguments []string, out, help io.Writer) error {
	opt, err := parseOptions(arguments, help)
	if err != nil {
		return err
	}
	buyers, foods, err := readBuyers(ctx, opt)
	if err != nil {
		return err
	}
	c := &client.Client{Address: opt.addr, Timeout: requestTimeout}
	defer c.HangUp()
	targets := make([]target, len(buyers))
	for i, user := range buyers {
		food := int(foods[rand.IntN(len(foods))].ID)
		if targets[i], err = newTarget(c, opt.step, user, food); err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("cannot prepare user %d: %w", user.ID, err)
		}
	}
	encoder := json.NewEncoder(out)
	for _, target := range targets {
		if err := encoder.Encode(target); err != nil {
			return fmt.Errorf("cannot write targets: %w", err)
		}
	}
	return nil
}

// target is one request as a line of vegeta's JSON format has it; Body becomes base64.
type target struct {
	Method string              `json:"method"`
	URL    string              `json:"url"`
	Body   []byte              `json:"body,omitempty"`
	Header map[string][]string `json:"header,omitempty"`
}

// newTarget makes the calls of the flow before the step and returns the step's own request. One piece of the
// food goes into the cart.
func newTarget(c *client.Client, step string, user catalog.User, food int) (target, error) {
	base := "http://" + c.Address
	if step == "login" {
		return target{Method: "POST", URL: base + "/login",
			Body: []byte(client.LoginBody(user.Name, user.Password))}, nil
	}
	if err := c.Login(user.Name, user.Password); err != nil {
		return target{}, fmt.Errorf("login: %w", err)
	}
	header := map[string][]string{"Access-Token": {c.Token}}
	switch step {
	case "foods":
		return target{"GET", base + "/foods", nil, header}, nil
	case "carts":
		return target{"POST", base + "/carts", nil, header}, nil
	}
	cart, err := c.NewCart()
	if err != nil {
		return target{}, fmt.Errorf("new cart: %w", err)
	}
	piece := client.Pieces(food, 1)
	if step == "adds" {
		return target{"PATCH", base + client.CartPath(cart), []byte(client.JSON(piece)), header}, nil
	}
	if err := c.Add(cart, piece); err != nil {
		return target{}, fmt.Errorf("add: %w", err)
	}
	return target{"POST", base + "/orders", []byte(client.OrderBody(cart)), header}, nil
}
