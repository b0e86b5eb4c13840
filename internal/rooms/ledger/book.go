package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"flashsale/redisx"
	"flashsale/redisx/orderstream"
)

// entry is one order as the tables have it.
type entry struct {
	id     string
	user   uint32
	total  int64
	placed time.Time
	items  []redisx.Item
	hold   redisx.Hold // of an order that is or was held, else the zero Hold
}

// book makes entries of a sale's orders.
type book struct {
	sale   string
	prices []int64 // of food 1, 2, 3, ...
}

// entry prices an order. redisx has checked that its foods are those of the sale.
func (b book) entry(order redisx.Order) entry {
	id := string(redisx.AppendOrderID(nil, b.sale, order.User, order.Hold.Number))
	e := entry{id: id, user: order.User, placed: order.Placed, items: order.Items,
		hold: order.Hold}
	for _, item := range order.Items {
		e.total += b.prices[item.Food-1] * item.Count
	}
	return e
}

// scan calls visit with all orders of the sale that are in Redis, also with those that were released, at
// most batchMax at a time. It may visit an order twice that changes meanwhile. The error of visit ends it.
func (b book) scan(
	ctx context.Context, redis redisx.Config, sale *redisx.Sale, visit func([]entry) error,
) error {
	if err := b.scanLive(ctx, sale, visit); err != nil || redis.Hold == 0 {
		return err
	}
	return orderstream.Released(ctx, redis, b.sale, len(b.prices), func(orders []redisx.Order) error {
		return b.inBatches(orders, visit)
	})
}

// inBatches calls visit with entries of orders, at most batchMax at a time.
func (b book) inBatches(orders []redisx.Order, visit func([]entry) error) error {
	for some := range slices.Chunk(orders, batchMax) { // Redis may return more than it was asked for
		entries := make([]entry, 0, len(some))
		for _, order := range some {
			entries = append(entries, b.entry(order))
		}
		if err := visit(entries); err != nil {
			return err
		}
	}
	return nil
}

func (b book) scanLive(ctx context.Context, sale *redisx.Sale, visit func([]entry) error) error {
	for scan := sale.ScanOrders(); ; {
		page, err := scan.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot read the orders in Redis: %w", err)
		}
		if err := b.inBatches(page, visit); err != nil {
			return err
		}
	}
}
