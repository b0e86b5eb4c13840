package ledger

import (
	"context"
	"errors"
	"io"
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
	for scan := sale.ScanOrders(); ; {
		page, err := scan.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		// SCAN may return more keys than it was asked for.
		for start := 0; start < len(page); start += batchMax {
			var entries []entry
			for _, order := range page[start:min(start+batchMax, len(page))] {
				entries = append(entries, l.book.entry(order))
			}
			if err := l.cfg.Database.write(ctx, entries); err != nil {
				return err
			}
		}
		count += len(page)
	}
	if count > 0 {
		slog.Info("the ledger was just switched on: the orders that were there are in the database",
			"orders", count)
	}
	return stream.Filled()
}
