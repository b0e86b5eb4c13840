package app

import (
	"context"

	"flashsale/handlers"
	"flashsale/redisx/turnover"
)

// pastOrder finds the order of a user in a sale that has ended.
func (w *worker) pastOrder(sale string, user uint32) (order handlers.PastOrder, err error) {
	ctx, stop := context.WithTimeout(context.Background(), w.Redis.StockTimeout())
	defer stop()
	past, err := turnover.OpenPast(ctx, w.Redis, sale)
	if err != nil {
		return order, err
	}
	defer past.Close()
	order.Prices = past.Prices
	order.SameFoods = past.Catalog == firstStock(w.catalog).Catalog
	if order.SameFoods {
		order.Prices = prices(w.catalog)
	}
	if order.Prices == nil {
		return order, nil
	}
	order.SameUsers = w.catalog.Names().Extends(past.Users)
	order.Order, err = past.Order(ctx, user, len(order.Prices))
	return order, err
}
