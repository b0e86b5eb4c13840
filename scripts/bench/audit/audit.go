// Package audit proves from outside that a sale sold correctly. It reads all orders and the food lists as
// root and compares them with the catalogue and with what the load was told. It shares no code with the
// load: neither its client nor its parsers.
//
// It is slow where it reads /admin/orders: the whole list is fetched before the load and at least once after
// it.
package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"flashsale/scripts/bench/sale"
)

const (
	// how long food lists may lag the orders before that counts as a violation
	stockLag      = 3 * time.Second
	auditInterval = 100 * time.Millisecond
	examplesMax   = 10 // violations shown per check
)

// ErrFailed is a sale with violations.
var ErrFailed = errors.New("audit failed")

// Check is one proof: its claim, the number of things examined, and the number of violations among them.
type Check struct {
	Name       string   `json:"name"`
	Examined   int      `json:"examined"`
	Violations int      `json:"violations"`
	Examples   []string `json:"examples,omitempty"`
}

// Violate counts a violation and keeps the first ones as examples.
func (c *Check) Violate(format string, args ...any) {
	c.Violations++
	if len(c.Examples) < examplesMax {
		c.Examples = append(c.Examples, fmt.Sprintf(format, args...))
	}
}

// Evidence is the input of the checks: the catalogue, the attempts of this run, and the books.
type Evidence struct {
	Sale     *sale.Sale
	before   map[string]Order // by id, the orders before the load; nil without a load
	Attempts []sale.Attempt   // of this run
	Retried  bool             // with -retry
	Replies  *Check           // of the load, against their description; nil = not compared
	orders   []Order
	listings []listing

	restocked map[int64]int64 // pieces of a food that root has added, less the pieces taken back

	Endings []sale.Ending // of the orders of this run; nil: orders are final at once
	held    heldBooks     // with Endings
}

// Begin takes the present orders as the orders before the load.
func (ev *Evidence) Begin() { ev.before = ordersByID(ev.orders) }

// Bought is the set of users who have an order.
func (ev *Evidence) Bought() map[uint32]bool {
	bought := make(map[uint32]bool, len(ev.orders))
	for _, o := range ev.orders {
		bought[o.UserID] = true
	}
	return bought
}

func ordersByID(orders []Order) map[string]Order {
	byID := make(map[string]Order, len(orders))
	for _, o := range orders {
		byID[o.ID] = o
	}
	return byID
}

// ordersByID are the orders that are listed, and those that were released.
func (ev *Evidence) ordersByID() map[string]Order {
	byID := ordersByID(ev.orders)
	for id, o := range ev.held.released {
		byID[id] = o.Order
	}
	return byID
}

// Read reads the books into ev. Food lists lag, and an order without an answer may still be under way, so
// while the stock does not add up it reads again, for stockLag at most after the last order was released. An
// error means that the books could not be read.
func (b *Books) Read(ctx context.Context, ev *Evidence) error {
	for deadline := time.Now().Add(stockLag); ; time.Sleep(auditInterval) {
		var err error
		released := len(ev.held.released)
		if ev.orders, err = b.orders(ctx, ""); err != nil {
			return err
		}
		if ev.listings, err = b.listings(ctx); err != nil {
			return err
		}
		if ev.restocked, err = b.restocked(ctx); err != nil {
			return err
		}
		if ev.Endings != nil {
			if ev.held, err = b.heldBooks(ctx, ev); err != nil {
				return err
			}
		}
		if len(ev.held.released) > released {
			deadline = time.Now().Add(stockLag)
		}
		settled := ev.checkStock().Violations == 0 && (ev.Endings == nil || ev.checkHeld().Violations == 0)
		if settled || ev.matchFoods() != nil || time.Now().After(deadline) {
			return nil
		}
	}
}

// Checks runs every check for which there is evidence.
func (ev *Evidence) Checks() []Check {
	checks := []Check{
		ev.checkIDs(), ev.checkUsers(), ev.checkPieces(), ev.checkTotals(), ev.checkOversold(),
		ev.checkStock(),
	}
	if ev.before != nil {
		checks = append(checks, ev.checkAcknowledged(), ev.checkSent(), ev.checkUnexpected(),
			ev.checkEarlier())
	}
	if ev.Retried {
		checks = append(checks, ev.checkSettled())
	}
	if ev.Endings != nil {
		checks = append(checks, ev.checkHeld(), ev.checkEnded(), ev.checkRefunds())
	}
	if ev.Replies != nil {
		checks = append(checks, *ev.Replies)
	}
	return checks
}

// The names of the checks, as reports show them.
const (
	ListedOnce   = "every order is listed once"
	OnePerUser   = "every order is of a known user, and a user has one"
	Pieces       = "every order has 1 to 3 pieces of known foods" // sale.PiecesMax
	Totals       = "every order's total is the price of its pieces"
	Oversold     = "no food is sold over its stock"
	Stock        = "stock left + sold = initial stock + restocked, for every food on every server"
	Acknowledged = "every order answered 200 is there, for its user"
	Sent         = "every order of this run has the pieces that were sent"
	Unexpected   = "no order came from nowhere, none that was refused"
	Settled      = "every user of this run who was not refused has exactly one order"
	HeldStock    = "stock left + held + paid = initial stock + restocked, for every food"
	Ended        = "every held order of this run is paid, released, held or refunded as its end wants it"
	Refunds      = "every payment of an order that is not paid is due to be given back, once, and no other is"
	Earlier      = "every order from before the load is there, unchanged"
	Described    = "every reply is as the description of the API has it"
)
