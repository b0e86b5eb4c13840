package app

import (
	"context"
	"log/slog"

	"flashsale/internal/catalog"
	"flashsale/internal/rooms/ledger"
	"flashsale/redisx"
)

// openLedger switches the sale's ledger on. Without a database it returns nil.
func openLedger(
	ctx context.Context, database *ledger.Database, sale *opening, address string,
) (*ledger.Ledger, error) {
	if database == nil {
		backlog, err := redisx.ReadBacklog(ctx, sale.Redis, sale.Sale)
		if err == nil && backlog.Kept {
			slog.Warn("this sale keeps a ledger, but -ledger is not set here: "+
				"orders wait in Redis until a server with it runs",
				"sale", sale.Sale, "orders_waiting", backlog.Orders)
		}
		return nil, err
	}
	return ledger.New(ctx, ledger.Config{
		Database: database, Redis: sale.Redis, Sale: sale.Sale, Prices: prices(sale.catalog), Address: address,
	})
}

// prices returns the prices of food 1, 2, 3, ...
func prices(c *catalog.Catalog) []int64 {
	var list []int64
	for _, food := range c.Foods() {
		list = append(list, food.Price)
	}
	return list
}
