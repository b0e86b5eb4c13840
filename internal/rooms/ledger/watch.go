package ledger

import (
	"context"
	"log/slog"
	"time"

	"flashsale/internal/background"
	"flashsale/redisx"
)

// watch logs how far the database is behind, one line in behindEvery at most.
func (l *Ledger) watch(ctx context.Context) {
	behind := false
	background.Every(ctx, l.behindEvery, func() {
		backlog, err := redisx.ReadBacklog(ctx, l.cfg.Redis, l.cfg.Sale)
		switch age := backlog.Age(time.Now()); {
		case err != nil: // Redis is away: Run has logged it
		case age >= l.behindAfter:
			slog.Warn("the database is behind the sale", "orders", backlog.Orders,
				"oldest", age.Round(time.Millisecond), "database", l.cfg.Database)
			behind = true
		case behind:
			slog.Info("the database is no longer behind the sale", "database", l.cfg.Database)
			behind = false
		}
	})
}
