package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"flashsale/redisx"
)

// entry is one order as the tables have it.
type entry struct {
	id     string
	user   uint32
	total  int64
	placed time.Time
	items  []redisx.Item
}

// book makes entries of a sale's orders.
type book struct {
	sale   string
	prices []int64 // of food 1, 2, 3, ...
}

// entry prices an order. redisx has checked that its foods are those of the sale.
func (b book) entry(order redisx.Order) entry {
	id := string(redisx.AppendOrderID(nil, b.sale, order.User, order.Hold.Number))
	e := entry{id: id, user: order.User, placed: order.Placed, items: order.Items}
	for _, item := range order.Items {
		e.total += b.prices[item.Food-1] * item.Count
	}
	return e
}

// scan calls visit with all orders of the sale that are in Redis, at most batchMax at a time. The error of
// visit ends it.
func (b book) scan(ctx context.Context, sale *redisx.Sale, visit func([]entry) error) error {
	for scan := sale.ScanOrders(); ; {
		page, err := scan.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot read the orders in Redis: %w", err)
		}
		for orders := range slices.Chunk(page, batchMax) { // Redis may return more than it was asked for
			entries := make([]entry, 0, len(orders))
			for _, order := range orders {
				entries = append(entries, b.entry(order))
			}
			if err := visit(entries); err != nil {
				return err
			}
		}
	}
}
