package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"maps"
	"slices"

	"flashsale/redisx"
	"flashsale/redisx/orderstream"
)

// examplesMax is how many differences an audit names.
const examplesMax = 10

// AuditConfig is what a comparison needs.
type AuditConfig struct {
	Database *Database
	Redis    redisx.Config // with the hold of the sale
	Sale     *redisx.Sale
	Prices   []int64 // of food 1, 2, 3, ...
	Stock    []int64 // pieces of food 1, 2, 3, ... at the start
}

// Audit is the outcome of a comparison of all orders of a sale, or of all messages, in Redis with the
// database. The sale may go on meanwhile.
type Audit struct {
	Title     string
	What      string    // orders or messages
	InRedis   int       // in Redis
	Rows      int       // in the database
	OnTheWay  int       // Redis has it, and knows that the database has not: no difference
	Missing   int       // the database should have it
	Extra     int       // in the database only
	Different int       // in both, and not the same
	Examples  []string  // the first differences
	Equation  *Equation // of the stock; nil for messages

	more int // further ones
}

// Equal reports whether everything is in the database, or on its way there, as it is in Redis, and nothing
// else is; and whether all pieces are there.
func (a *Audit) Equal() bool {
	return a.Missing+a.Extra+a.Different == 0 && (a.Equation == nil || len(a.Equation.Wrong) == 0)
}

// Print writes the audit for people.
func (a *Audit) Print(out io.Writer) {
	fmt.Fprintln(out, "audit of", a.Title)
	for _, line := range []struct {
		name  string
		count int
	}{
		{a.What + " in Redis", a.InRedis}, {a.What + " in the database", a.Rows}, {"on the way", a.OnTheWay},
		{"missing", a.Missing}, {"extra", a.Extra}, {"different", a.Different},
	} {
		fmt.Fprintf(out, "  %-*s  %8d\n", len(a.What+" in the database"), line.name, line.count)
	}
	for _, example := range a.Examples {
		fmt.Fprintln(out, "  ", example)
	}
	if a.more > 0 {
		fmt.Fprintf(out, "   and %d more\n", a.more)
	}
	if a.Equation != nil {
		a.Equation.Print(out)
	}
}

func (a *Audit) found(counter *int, format string, args ...any) { a.count(counter, 1, format, args...) }

// count counts differences that one example shows.
func (a *Audit) count(counter *int, n int64, format string, args ...any) {
	*counter += int(n)
	if len(a.Examples) < examplesMax {
		a.Examples = append(a.Examples, fmt.Sprintf(format, args...))
	} else {
		a.more += int(n)
	}
}

// Compare audits. It holds all orders of the sale in memory, about 200 bytes each.
//
// It is right even while orders are placed, because it reads Redis, then the stream, then the database. An
// order that is in Redis and not in the stream was committed before the database is read. An order that only
// the database has is looked up in Redis again. A counter compares the orders with the stock.
func Compare(ctx context.Context, cfg AuditConfig) (*Audit, error) {
	sale := cfg.Sale.ID()
	book := book{sale: sale, prices: cfg.Prices}
	count, err := newCounter(ctx, cfg)
	if err != nil {
		return nil, err
	}
	placed := map[string]entry{}
	err = book.scan(ctx, cfg.Redis, cfg.Sale, func(entries []entry) error {
		for _, e := range entries {
			placed[e.id] = e
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	a := &Audit{Title: "sale " + sale, What: "orders", InRedis: len(placed)}
	if a.Equation, err = count.end(ctx, placed); err != nil {
		return nil, err
	}
	onTheWay := map[uint32]bool{}
	err = orderstream.Users(ctx, cfg.Redis, sale, func(user uint32) { onTheWay[user] = true })
	if err != nil {
		return nil, fmt.Errorf("cannot read the stream of orders: %w", err)
	}
	c := comparison{a, book, cfg.Redis, cfg.Sale, placed, onTheWay}
	err = cfg.Database.read(ctx, sale, cfg.Redis.Hold > 0, func(row entry) error {
		a.Rows++
		return c.compare(ctx, row)
	})
	if err != nil {
		return nil, err
	}
	missing := map[string]bool{}
	for _, order := range placed {
		missing[order.id] = true
	}
	err = cfg.Database.orphans(ctx, sale, func(id string) {
		if !missing[id] { // the order that is missing is what counts
			a.found(&a.Extra, "extra: items of order %s, which is not there", id)
		}
	})
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(placed)) {
		if onTheWay[placed[id].user] {
			a.OnTheWay++
		} else {
			a.found(&a.Missing, "missing: order %s", id)
		}
	}
	return a, nil
}

// comparison is a comparison that goes on.
type comparison struct {
	*Audit
	book     book
	redis    redisx.Config
	sale     *redisx.Sale
	placed   map[string]entry // by id: orders in Redis without a row yet
	onTheWay map[uint32]bool  // users
}

// compare judges a row and removes its order from placed.
func (c *comparison) compare(ctx context.Context, row entry) error {
	want, known := c.placed[row.id]
	if known = known && want.user == row.user; !known {
		now, err := c.now(ctx, row)
		if err != nil {
			return err
		}
		switch {
		case now.id == "":
			c.found(&c.Extra, "extra: order %s of user %d", row.id, row.user)
			return nil
		case row.id != now.id: // a second row of the user, or one with the user of another
			c.found(&c.Extra, "extra: order %s of user %d, whose order is %s", row.id, row.user, now.id)
			return nil
		}
		want = now
		c.InRedis++ // placed after Redis was read
	}
	delete(c.placed, row.id)
	if row.hold.Events > want.hold.Events { // it has changed after Redis was read
		now, err := c.now(ctx, row)
		if err != nil || row.hold.Events < now.hold.Events {
			return err
		}
		want = now
	}
	if row.hold.Events < want.hold.Events && c.onTheWay[row.user] {
		c.OnTheWay++
		return nil
	}
	slices.SortFunc(want.items, func(x, y redisx.Item) int { return int(x.Food - y.Food) })
	if row.total != want.total || !slices.Equal(row.items, want.items) {
		c.found(&c.Different, "different: order %s has %v, total %d; in the database %v, total %d",
			row.id, want.items, want.total, row.items, row.total)
	} else if row.hold.State != want.hold.State || row.hold.Events != want.hold.Events {
		c.found(&c.Different, "different: order %s is %s after %d events; in the database %s after %d",
			row.id, want.hold.State, want.hold.Events, row.hold.State, row.hold.Events)
	}
	return nil
}

// now reads the order of a row from Redis: of a held order that one, else that of its user. The id is "" if
// there is none.
func (c *comparison) now(ctx context.Context, row entry) (entry, error) {
	if c.redis.Hold > 0 {
		orders, err := orderstream.Find(ctx, c.redis, row.id, len(c.book.prices))
		for _, order := range orders {
			if e := c.book.entry(order); e.id == row.id && e.user == row.user {
				return e, err
			}
		}
		return entry{}, err
	}
	order, err := c.sale.Order(row.user)
	if err != nil || len(order.Items) == 0 {
		return entry{}, err
	}
	return c.book.entry(order), nil
}

// orphans calls visit with the id of every order that has items in the database and is not there itself.
func (d *Database) orphans(ctx context.Context, sale string, visit func(id string)) error {
	const query = "SELECT DISTINCT i.order_id FROM order_items i LEFT JOIN orders o ON o.id = i.order_id " +
		"WHERE i.order_id LIKE ? AND o.id IS NULL ORDER BY i.order_id"
	var id string
	return d.each(ctx, "items", func() error {
		visit(id)
		return nil
	}, []any{&id}, query, sale+"-%")
}

// read calls visit with every order of the sale in the database, its items by food; of held orders with
// their states.
func (d *Database) read(ctx context.Context, sale string, held bool, visit func(entry) error) error {
	query := "SELECT o.id, o.user_id, o.total, i.food_id, i.`count`, %s FROM orders o " +
		"LEFT JOIN order_items i ON i.order_id = o.id %s WHERE o.id LIKE ? ORDER BY o.id, i.food_id"
	if held {
		query = fmt.Sprintf(query, "COALESCE(s.state, ''), COALESCE(s.events, 0)",
			"LEFT JOIN order_states s ON s.order_id = o.id")
	} else {
		query = fmt.Sprintf(query, "'', 0", "")
	}
	var row, last entry
	var food, count sql.NullInt64
	into := []any{&row.id, &row.user, &row.total, &food, &count, &row.hold.State, &row.hold.Events}
	err := d.each(ctx, "orders", func() (err error) {
		if row.id != last.id {
			if last.id != "" {
				err = visit(last)
			}
			last = row
		}
		if food.Valid {
			last.items = append(last.items, redisx.Item{Food: food.Int64, Count: count.Int64})
		}
		return err
	}, into, query, sale+"-%")
	if err != nil || last.id == "" {
		return err
	}
	return visit(last)
}

// each reads the rows that a query finds, one after the other, into the same variables, and calls visit
// after each. what names the rows in errors.
func (d *Database) each(
	ctx context.Context, what string, visit func() error, into []any, query string, values ...any,
) error {
	rows, err := d.db.QueryContext(ctx, query, values...)
	if err != nil {
		return fmt.Errorf("cannot read the %s in %v: %w", what, d, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return fmt.Errorf("cannot read the %s in %v: %w", what, d, err)
		}
		if err := visit(); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("cannot read the %s in %v: %w", what, d, err)
	}
	return nil
}
