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
func ReadBacklog(ctx context.Context, cfg Config, sale string) (all Backlog, err error) {
	for i := range max(cfg.Slices, 1) {
		one, err := readBacklog(ctx, cfg, sale, i)
		if err != nil {
			return Backlog{}, err
		}
		all.add(one)
	}
	return all, nil
}

func readBacklog(ctx context.Context, cfg Config, sale string, slice int) (found Backlog, err error) {
	l, err := pipeline.Dial(ctx, cfg.Slice(slice))
	if err != nil {
		return Backlog{}, err
	}
	defer l.Close()
	err = l.Do(found.ask(pipeline.NewCall(), cfg.KeysOf(sale, slice).Stream), cfg.Timeout)
	return found, err
}

// add adds the backlog of another slice.
func (b *Backlog) add(other Backlog) {
	b.Kept = b.Kept || other.Kept
	b.Orders += other.Orders
	if len(b.oldest) == 0 || len(other.oldest) > 0 && other.oldest[0].ID.Before(b.oldest[0].ID) {
		b.oldest = other.oldest
	}
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
