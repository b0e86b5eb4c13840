package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// stateSchema is the table of the states of held orders. changed_at is UTC: when the hold ends, or when the
// order was paid or ended. events is how often the order has changed: a higher number is newer.
var stateSchema = schema{
	tables: []string{`CREATE TABLE IF NOT EXISTS order_states (
		order_id VARCHAR(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
		state VARCHAR(16) NOT NULL,
		number INT NOT NULL,
		changed_at DATETIME(3) NOT NULL,
		payment_id VARCHAR(200) NOT NULL,
		events INT NOT NULL,
		PRIMARY KEY (order_id)
	) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`},
	probes: []string{"SELECT order_id, state, number, changed_at, payment_id, events FROM order_states " +
		"LIMIT 0"},
}

const (
	insertStates = "INSERT INTO order_states (order_id, state, number, changed_at, payment_id, events) VALUES "
	// The values are set from left to right: events is the last one.
	newerStates = " ON DUPLICATE KEY UPDATE state = IF(VALUES(events) > events, VALUES(state), state), " +
		"changed_at = IF(VALUES(events) > events, VALUES(changed_at), changed_at), " +
		"payment_id = IF(VALUES(events) > events, VALUES(payment_id), payment_id), " +
		"events = GREATEST(VALUES(events), events)"
	newestTotal = " ON DUPLICATE KEY UPDATE total = VALUES(total)"
)

// holding makes the database keep the states of held orders, too.
func (d *Database) holding() {
	d.schema.tables = slices.Concat(orderSchema.tables, stateSchema.tables)
	d.schema.probes = slices.Concat(orderSchema.probes, stateSchema.probes)
}

// writeStates is write for held orders. The states come first: their rows are locked from there on, so that
// of two servers with the same order the newer state stays.
func (d *Database) writeStates(ctx context.Context, entries []entry) error {
	entries = slices.SortedFunc(slices.Values(entries), func(a, b entry) int { return cmp.Compare(a.id, b.id) })
	tx, err := d.db.BeginTx(ctx, nil)
	if err == nil {
		if err = writeStates(ctx, tx, entries); err == nil {
			err = tx.Commit()
		} else {
			_ = tx.Rollback() // it ends with the connection if not by this
		}
	}
	if err != nil {
		return fmt.Errorf("cannot write the states of %d orders to %v: %w", len(entries), d, err)
	}
	return nil
}

func writeStates(ctx context.Context, tx *sql.Tx, entries []entry) error {
	var states, ids []any
	for _, e := range entries {
		h := e.hold
		states = append(states, e.id, string(h.State), h.Number, h.Till, h.Payment, h.Events)
		ids = append(ids, e.id)
	}
	if _, err := tx.ExecContext(ctx, insertStates+rowsOf(len(entries), 6)+newerStates, states...); err != nil {
		return err
	}
	newest, err := eventsOf(ctx, tx, ids)
	if err != nil {
		return err
	}
	var orders, items, gone []any
	for _, e := range entries {
		if newest[e.id] != e.hold.Events {
			continue // another server has written a newer state
		}
		gone = append(gone, e.id)
		orders = append(orders, e.id, e.user, e.total, e.placed)
		for _, item := range e.items {
			items = append(items, e.id, item.Food, item.Count)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	// Root may have taken items out: the new ones replace all.
	for _, x := range []struct {
		statement string
		values    []any
	}{
		{insertOrders + rowsOf(len(gone), 4) + newestTotal, orders},
		{"DELETE FROM order_items WHERE order_id IN " + rowsOf(1, len(gone)), gone},
		{insertItems + rowsOf(len(items)/3, 3), items},
	} {
		if _, err := tx.ExecContext(ctx, x.statement, x.values...); err != nil {
			return err
		}
	}
	return nil
}

// eventsOf reads how often orders have changed.
func eventsOf(ctx context.Context, tx *sql.Tx, ids []any) (events map[string]int, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT order_id, events FROM order_states WHERE order_id IN "+
		rowsOf(1, len(ids)), ids...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	events = map[string]int{}
	for rows.Next() {
		var id string
		var n int
		if err := rows.Scan(&id, &n); err != nil {
			return nil, err
		}
		events[id] = n
	}
	return events, rows.Err()
}
