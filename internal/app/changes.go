package app

import (
	"errors"
	"log/slog"

	"flashsale/redisx"
)

// logChanges logs the changes to a sale since the last call, made by any server or command, and returns
// them.
func logChanges(follower *redisx.Follower, sale string) (changes []redisx.LogEntry) {
	changes, err := follower.Changes(sale)
	if err != nil && !errors.Is(err, redisx.ErrUnavailable) { // the Redis client logs that Redis is away
		slog.Error("a change of the sale cannot be read", "sale", sale, "error", err)
	}
	for _, e := range changes {
		log := slog.With("sale", sale, "by", e.By, "at", momentText(e.At))
		switch e.What {
		case redisx.LogOpened:
			log.Info("the sale was made", "pieces", e.Pieces, "opens_at", momentText(e.TimesAfter.OpensAt),
				"closes_at", momentText(e.TimesAfter.ClosesAt))
		case redisx.LogState:
			log.Info("the state of the sale has changed", "before", e.StateBefore, "after", e.StateAfter)
		case redisx.LogTimes:
			log.Info("the times of the sale have changed", "opens_at", momentText(e.TimesAfter.OpensAt),
				"closes_at", momentText(e.TimesAfter.ClosesAt))
		case redisx.LogSoldOut:
			log.Info("no piece of any food is left")
		case redisx.LogOrder:
			log.Info("an order was corrected", "user", e.User, "number", e.Number, "before", itemsText(e.ItemsBefore),
				"after", itemsText(e.ItemsAfter), "reason", e.Reason)
		case redisx.LogStock:
			log.Info("the stock of a food has changed", "food_id", e.Food, "before", e.StockBefore,
				"after", e.StockAfter)
		}
	}
	return changes
}
