package redisx

import (
	"context"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

// Backlog describes the orders of a sale that are not in its ledger yet.
type Backlog struct {
	Kept   bool // the sale keeps a ledger
	Orders int  // waiting

	oldest []radix.StreamEntry // the first waiting order, if any
}

// ReadBacklog asks a Redis which orders of the sale are not in its ledger yet.
func ReadBacklog(ctx context.Context, cfg Config, sale string) (Backlog, error) {
	l, err := pipeline.Dial(ctx, cfg.Config)
	if err != nil {
		return Backlog{}, err
	}
	defer l.Close()
	var found Backlog
	err = l.Do(found.ask(pipeline.NewCall(), KeysOf(sale).Stream), cfg.Timeout)
	return found, err
}

// Age is how long the oldest order has waited at the moment now, 0 if no order waits.
func (b *Backlog) Age(now time.Time) time.Duration {
	if len(b.oldest) == 0 {
		return 0
	}
	return max(now.Sub(time.UnixMilli(int64(b.oldest[0].ID.Time))), 0) // Redis has a clock of its own
}

// ask adds the commands that fill the backlog to a call.
func (b *Backlog) ask(x *pipeline.Call, key string) *pipeline.Call {
	return x.Command(&b.Kept, "EXISTS", key).Command(&b.Orders, "XLEN", key).
		Command(&b.oldest, "XRANGE", key, "-", "+", "COUNT", "1")
}
