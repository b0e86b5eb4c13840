package ledger

import (
	"context"
	"log/slog"

	"flashsale/redisx"
	"flashsale/redisx/orderstream"
)

// fill writes every order of the sale, because some were placed before the stream was there.
func (l *Ledger) fill(ctx context.Context, stream *orderstream.Stream) error {
	sale, leave, err := redisx.Connect(ctx, l.cfg.Redis, l.cfg.Sale, len(l.cfg.Prices))
	if err != nil {
		return err
	}
	defer leave()
	count := 0
	err = l.book.scan(ctx, sale, func(entries []entry) error {
		count += len(entries)
		return l.cfg.Database.write(ctx, entries)
	})
	if err != nil {
		return err
	}
	if count > 0 {
		slog.Info("the ledger was just switched on: the orders that were there are in the database",
			"orders", count)
	}
	return stream.Filled()
}
