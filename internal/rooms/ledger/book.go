package ledger

import (
	"time"

	"flashsale/redisx"
)

// entry is one order as the tables have it.
type entry struct {
	id     string
	user   uint32
	total  int64
	placed time.Time // zero when it is not known
	items  []redisx.Item
}

// book makes entries of a sale's orders.
type book struct {
	sale   string
	prices []int64 // of food 1, 2, 3, ...
}

// entry prices an order. redisx has checked that its foods are those of the sale.
func (b book) entry(order redisx.Order) entry {
	id := string(redisx.AppendOrderID(nil, b.sale, order.User))
	e := entry{id: id, user: order.User, placed: order.Placed, items: order.Items}
	for _, item := range order.Items {
		e.total += b.prices[item.Food-1] * item.Count
	}
	return e
}
