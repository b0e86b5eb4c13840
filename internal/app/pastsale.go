package app

import (
	"context"
	"fmt"
	"sync"
	"time"

	"flashsale/handlers"
	"flashsale/redisx"
	"flashsale/redisx/held"
	"flashsale/redisx/turnover"
)

// pastLimit is for finding a sale that has ended, or an order of it.
const pastLimit = 20 * time.Second

// pastSale opens a sale that has ended.
func (w *worker) pastSale(sale string) (*handlers.PastSale, error) {
	ctx, stop := context.WithCancel(context.Background()) // its connection lives as long
	late := time.AfterFunc(pastLimit, stop)
	past, err := turnover.OpenPast(ctx, w.Redis, sale)
	late.Stop()
	if err != nil {
		stop()
		return nil, err
	}
	end := func() {
		past.Close()
		stop()
	}
	known := &handlers.PastSale{Prices: past.Prices, SameFoods: past.Catalog == firstStock(w.catalog).Catalog,
		SameUsers: w.catalog.Names().Extends(past.Users), Holds: past.Holds, Close: end}
	if known.SameFoods {
		known.Prices = prices(w.catalog)
	}
	if known.Prices == nil {
		end()
		return nil, fmt.Errorf("%w: %w", turnover.ErrNoPastSale, errNoPrices)
	}
	known.Next = func(ctx context.Context) ([]redisx.Order, error) { return past.Next(ctx, len(known.Prices)) }
	known.Order = func(user uint32) (redisx.Order, error) {
		ctx, stop := context.WithTimeout(context.Background(), pastLimit)
		defer stop()
		return past.Order(ctx, user, len(known.Prices))
	}
	return known, nil
}

// pastOrders finds single orders of sales that have ended, for their buyers.
func (w *worker) pastOrders() handlers.PastOrders {
	var mu sync.Mutex
	same := map[string]bool{} // by fingerprint of users: counting one takes long
	return func(sale string, id held.ID) (o handlers.PastOrder, err error) {
		o.Order, err = w.held.Of(sale).FindAfter(id)
		if err != nil || len(o.Items) == 0 {
			return o, err
		}
		terms, err := turnover.TermsOf(w.held.Home(), w.Redis, sale, o.Items)
		o.Prices = terms.Prices
		mu.Lock()
		defer mu.Unlock()
		known, found := same[terms.Users]
		if !found {
			known = w.catalog.Names().Extends(terms.Users)
			same[terms.Users] = known
		}
		o.SameUsers = known
		return o, err
	}
}

// pastSales are the ids of the sales before this one, the last one first.
func (w *worker) pastSales() ([]string, error) {
	ctx, stop := context.WithTimeout(context.Background(), pastLimit)
	defer stop()
	marker, err := redisx.ReadMarker(ctx, w.Redis)
	if err != nil {
		return nil, err
	}
	return marker.Previous, nil
}
