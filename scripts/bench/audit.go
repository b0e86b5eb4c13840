package main

import (
	"context"
	"fmt"
	"slices"
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

// read reads the books into ev. Food lists lag, and an order without an answer may still be under way, so while the stock
// does not add up it reads again, for stockLag at most. An error means that the books could not be read.
func (b *books) read(ctx context.Context, ev *evidence) error {
	for deadline := time.Now().Add(stockLag); ; time.Sleep(auditInterval) {
		var err error
		if ev.orders, err = b.orders(ctx); err != nil {
			return err
		}
		if ev.listings, err = b.listings(ctx); err != nil {
			return err
		}
		if ev.checkStock().Violations == 0 || ev.matchFoods() != nil || time.Now().After(deadline) {
			return nil
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

// otherSettings is the error of a catalogue that is not the server's: its violations would be the flags', not the sale's.
func otherSettings(server, format string, args ...any) error {
	return fmt.Errorf("%w: %s "+format+"; give bench the server's catalogue settings (-users, -foods, -stock, ...)",
		append([]any{errUsage, server}, args...)...)
}

// matches refuses, as an errUsage, another catalogue than the servers'.
func (ev *evidence) matches(readiness map[string]map[string]any) error {
	for server, answer := range readiness {
		if users, known := answer["users"].(float64); known && int(users) != len(ev.sale.users) {
			return otherSettings(server, "has %.0f users, bench was told %d", users, len(ev.sale.users))
		}
	}
	if err := ev.matchFoods(); err != nil {
		return err
	}
	return ev.matchStock()
}

// matchFoods holds ids and prices against the catalogue.
func (ev *evidence) matchFoods() error {
	for _, l := range ev.listings {
		if len(l.foods) != len(ev.sale.foods) {
			return otherSettings(l.server, "sells %d foods, bench was told %d", len(l.foods), len(ev.sale.foods))
		}
		for _, offered := range l.foods {
			if f, found := ev.sale.food(offered.ID); !found || f.Price != offered.Price {
				return otherSettings(l.server, "sells food %d at %d, bench was told %d", offered.ID, offered.Price, f.Price)
			}
		}
	}
	return nil
}

// matchStock holds the stock with which a server began against the catalogue. What goes wrong in a sale does so food by food;
// only a wrong catalogue is off by the same number for every food, or by too many pieces before the first order.
func (ev *evidence) matchStock() error {
	sold := ev.sold()
	for _, l := range ev.listings {
		off := make([]int64, len(l.foods))
		for i, offered := range l.foods {
			f, _ := ev.sale.food(offered.ID)
			off[i] = offered.Stock + sold[f.ID] - f.Stock
		}
		at := slices.IndexFunc(off, func(n int64) bool { return n > 0 && len(ev.orders) == 0 })
		if at < 0 && slices.Min(off) == slices.Max(off) {
			at = 0
		}
		if at >= 0 && off[at] != 0 {
			offered := l.foods[at]
			began := offered.Stock + sold[offered.ID]
			return otherSettings(l.server, "began with %d pieces of food %d (%d left + %d sold), bench was told %d",
				began, offered.ID, offered.Stock, sold[offered.ID], began-off[at])
		}
	}
	return nil
}
