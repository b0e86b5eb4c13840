package main

import (
	"context"
	"fmt"
	"time"
)

const (
	stockLag      = 3 * time.Second // how long food lists may lag the orders before that counts as a violation
	auditInterval = 100 * time.Millisecond
	examplesMax   = 10 // violations shown per check
)

// check is one proof: what it claims, how many things it looked at, how many spoke against it.
type check struct {
	Name       string   `json:"name"`
	Examined   int      `json:"examined"`
	Violations int      `json:"violations"`
	Examples   []string `json:"examples,omitempty"`
}

func (c *check) violate(format string, args ...any) {
	c.Violations++
	if len(c.Examples) < examplesMax {
		c.Examples = append(c.Examples, fmt.Sprintf(format, args...))
	}
}

// evidence is all that the checks compare: what was on sale, what this run knows, what the books say.
type evidence struct {
	sale     sale
	before   map[string]order // by id, the orders there before the load; nil without a load
	attempts []attempt        // of this run
	retried  bool             // with -retry
	orders   []order
	listings []listing
}

func ordersByID(orders []order) map[string]order {
	byID := make(map[string]order, len(orders))
	for _, o := range orders {
		byID[o.ID] = o
	}
	return byID
}

// audit reads the books into ev and runs all checks. Food lists lag, and an order without an answer may still be under way, so
// while the stock does not add up it reads again, for stockLag at most. An error means that the books could not be read.
func (b *books) audit(ctx context.Context, ev *evidence) ([]check, error) {
	for deadline := time.Now().Add(stockLag); ; time.Sleep(auditInterval) {
		var err error
		if ev.orders, err = b.orders(ctx); err != nil {
			return nil, err
		}
		if ev.listings, err = b.listings(ctx); err != nil {
			return nil, err
		}
		if ev.checkStock().Violations == 0 || time.Now().After(deadline) {
			return ev.checks(), nil
		}
	}
}

// checks runs every check for which there is evidence.
func (ev *evidence) checks() []check {
	checks := []check{
		ev.checkIDs(), ev.checkUsers(), ev.checkPieces(), ev.checkTotals(), ev.checkOversold(), ev.checkStock(),
	}
	if ev.before != nil {
		checks = append(checks, ev.checkAcknowledged(), ev.checkSent(), ev.checkUnexpected(), ev.checkEarlier())
	}
	if ev.retried {
		checks = append(checks, ev.checkSettled())
	}
	return checks
}
