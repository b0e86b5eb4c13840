package ledger

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

// equationTries is how often the pieces are counted while they do not add up: a piece on its way between two
// slices may be missed, and the next try has fewer orders that change meanwhile.
const equationTries = 10

// Equation tells whether every piece of every food is there once: initial + restocked = left + held + sold.
// The stock of the sale tells left and held, and so what must be sold; the orders tell held and sold.
type Equation struct {
	Foods                                int
	Holds                                bool     // else no piece is held
	Initial, Restocked, Left, Held, Sold int64    // pieces of all foods, by the stock
	Moving                               int64    // of orders that changed meanwhile; 0: it is exact
	Wrong                                []string // a line for each food that does not add up
}

// Print writes the equation for people.
func (e *Equation) Print(out io.Writer) {
	fmt.Fprintf(out, "pieces of all foods: %d initial + %d restocked = %d left + %s", e.Initial, e.Restocked,
		e.Left, piecesText(e.Holds, e.Held, e.Sold))
	if e.Moving > 0 {
		fmt.Fprintf(out, ", give or take %d that moved meanwhile", e.Moving)
	}
	fmt.Fprintf(out, "\n  foods that do not add up: %d of %d\n", len(e.Wrong), e.Foods)
	for _, line := range e.Wrong[:min(len(e.Wrong), examplesMax)] {
		fmt.Fprintln(out, "  ", line)
	}
	if more := len(e.Wrong) - examplesMax; more > 0 {
		fmt.Fprintf(out, "   and %d more\n", more)
	}
}

func piecesText(holds bool, held, sold int64) string {
	if !holds {
		return fmt.Sprintf("%d sold", sold)
	}
	return fmt.Sprintf("%d held + %d paid", held, sold)
}

// counter counts the pieces of orders while orders are placed.
//
// Final orders stay. So what they have lies between what was sold before they were read and what was sold
// after it. Every change of a held order is an event, written in the same step. So an order with a new event
// is read again, and only those that change while the stock is read leave a doubt.
type counter struct {
	cfg     AuditConfig
	least   []int64          // sold before the orders were read, by food; nil for held orders
	next    []string         // by slice, the first event to read; nil for final orders
	changed map[uint32]entry // the orders of users with events; without items where there is none
}

// newCounter is called before the orders are read.
func newCounter(ctx context.Context, cfg AuditConfig) (c *counter, err error) {
	c = &counter{cfg: cfg, changed: map[uint32]entry{}}
	if cfg.Sale.Hold() == 0 {
		return c, c.readLeast()
	}
	for slice := range cfg.Redis.SliceCount() {
		var last []radix.StreamEntry
		err := c.do(ctx, slice, pipeline.Command(&last, "XREVRANGE", c.keys(slice).Events, "+", "-", "COUNT", "1"))
		if err != nil {
			return nil, err
		}
		c.next = append(c.next, "0-1")
		if len(last) > 0 {
			c.next[slice] = last[0].ID.Next().String()
		}
	}
	return c, nil
}

// readLeast reads what is sold. Pieces that are missed between two slices seem to be sold.
func (c *counter) readLeast() error {
	tries := 1
	if c.cfg.Redis.SliceCount() > 1 {
		tries = equationTries
	}
	for try := range tries {
		found, err := c.stock()
		if err != nil {
			return err
		}
		for i, initial := range c.cfg.Stock {
			sold := found.SoldOf(i, initial)
			if try == 0 {
				c.least = append(c.least, sold)
			}
			c.least[i] = min(c.least[i], sold)
		}
	}
	return nil
}

func (c *counter) keys(slice int) redisx.Keys { return c.cfg.Redis.KeysOf(c.cfg.Sale.ID(), slice) }

func (c *counter) do(ctx context.Context, slice int, x *pipeline.Call) error {
	l, err := pipeline.Dial(ctx, c.cfg.Redis.Slice(slice))
	if err != nil {
		return err
	}
	defer l.Close()
	if err := l.Do(x, c.cfg.Redis.Timeout); err != nil {
		return fmt.Errorf("cannot read the events of orders: %w", err)
	}
	return nil
}

func (c *counter) stock() (found redisx.Snapshot, err error) {
	found, err = c.cfg.Sale.Snapshot()
	if err == nil && found.Slices.Away+found.Slices.Lost > 0 {
		err = redisx.ErrUnavailable
	}
	if err != nil {
		err = fmt.Errorf("cannot read the stock in Redis: %w", err)
	}
	return found, err
}

// end compares the stock with the orders that were read, by id.
func (c *counter) end(ctx context.Context, placed map[string]entry) (e *Equation, err error) {
	if _, err := c.readChanged(ctx); err != nil {
		return nil, err
	}
	for range equationTries {
		counted := c.count(placed)
		found, err := c.stock()
		if err != nil {
			return nil, err
		}
		doubt, err := c.readChanged(ctx)
		if err != nil {
			return nil, err
		}
		for i, least := range c.least {
			doubt[i] = max(0, found.SoldOf(i, c.cfg.Stock[i])-least)
		}
		if e = c.compare(&found, counted, doubt); len(e.Wrong) == 0 {
			break
		}
	}
	return e, nil
}

// pieces are numbers by food.
type pieces struct{ held, sold []int64 }

// count counts the pieces of all orders as they are now.
func (c *counter) count(placed map[string]entry) pieces {
	p := pieces{make([]int64, len(c.cfg.Stock)), make([]int64, len(c.cfg.Stock))}
	add := func(e entry) {
		switch e.hold.State {
		case redisx.Held, redisx.Paying:
			addPieces(p.held, e.items)
		case redisx.Paid, "":
			addPieces(p.sold, e.items)
		}
	}
	for _, e := range placed {
		if _, again := c.changed[e.user]; !again {
			add(e)
		}
	}
	for _, e := range c.changed {
		add(e)
	}
	return p
}

func addPieces(to []int64, items []redisx.Item) {
	for _, item := range items {
		to[item.Food-1] += item.Count
	}
}

// compare looks for foods of which the stock and the orders tell different numbers.
func (c *counter) compare(found *redisx.Snapshot, counted pieces, doubt []int64) *Equation {
	e := &Equation{Foods: len(c.cfg.Stock), Holds: found.Held != nil}
	for i, initial := range c.cfg.Stock {
		restocked, left, held, sold := found.Restocked[i], found.Left[i], found.HeldOf(i), found.SoldOf(i, initial)
		e.Initial, e.Restocked, e.Left = e.Initial+initial, e.Restocked+restocked, e.Left+left
		e.Held, e.Sold, e.Moving = e.Held+held, e.Sold+sold, e.Moving+doubt[i]
		if left < 0 || !near(held, counted.held[i], doubt[i]) || !near(sold, counted.sold[i], doubt[i]) {
			e.Wrong = append(e.Wrong, fmt.Sprintf("food %d: %d initial + %d restocked - %d left = %s; the orders "+
				"have %s", i+1, initial, restocked, left, piecesText(e.Holds, held, sold),
				piecesText(e.Holds, counted.held[i], counted.sold[i])))
		}
	}
	return e
}

func near(a, b, doubt int64) bool { return max(a-b, b-a) <= doubt }

// readChanged reads the held orders again that have new events. It returns how many pieces of each food
// these may have moved.
func (c *counter) readChanged(ctx context.Context) (moved []int64, err error) {
	moved = make([]int64, len(c.cfg.Stock))
	for slice := range c.next {
		users, err := c.readEvents(ctx, slice, moved)
		if err != nil {
			return nil, err
		}
		for some := range slices.Chunk(users, redisx.ScanCount) {
			if err := c.readOrders(ctx, slice, some, moved); err != nil {
				return nil, err
			}
		}
	}
	return moved, nil
}

// readEvents reads the new events of a slice and returns their users.
func (c *counter) readEvents(ctx context.Context, slice int, moved []int64) ([]uint32, error) {
	users := map[uint32]bool{}
	for {
		var page []radix.StreamEntry
		err := c.do(ctx, slice, pipeline.Command(&page, "XRANGE", c.keys(slice).Events, c.next[slice], "+",
			"COUNT", strconv.Itoa(redisx.ScanCount)))
		if err != nil {
			return nil, err
		}
		for _, event := range page {
			c.next[slice] = event.ID.Next().String()
			for _, field := range event.Fields {
				switch field[0] {
				case "user":
					if user, err := strconv.ParseUint(field[1], 10, 32); err == nil {
						users[uint32(user)] = true
					}
				case "items":
					if items, err := redisx.ParseItems([]byte(field[1]), len(c.cfg.Stock)); err == nil {
						addPieces(moved, items)
					}
				}
			}
		}
		if len(page) < redisx.ScanCount {
			return slices.Collect(maps.Keys(users)), nil
		}
	}
}

// readOrders reads the orders of users as they are now.
func (c *counter) readOrders(ctx context.Context, slice int, users []uint32, moved []int64) error {
	values := make([][]byte, len(users))
	x := pipeline.NewCall()
	k := c.keys(slice)
	for i, user := range users {
		x.Command(&radix.Maybe{Rcv: &values[i]}, "GET", k.Order(user))
	}
	if err := c.do(ctx, slice, x); err != nil {
		return err
	}
	for i, user := range users {
		now := entry{user: user}
		if values[i] != nil {
			order, err := redisx.ParseOrder(user, values[i], len(c.cfg.Stock))
			if err != nil {
				return fmt.Errorf("order of user %d: %w", user, err)
			}
			now.items, now.hold = order.Items, order.Hold
		}
		c.changed[user] = now
		addPieces(moved, now.items)
	}
	return nil
}
