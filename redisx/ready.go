package redisx

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

// ErrWritesRefused marks a Redis that holds the sale and answers, but refuses to change anything: its memory
// or its disk is full, or it is a replica. The error continues with the text of Redis.
var ErrWritesRefused = errors.New("writes are refused")

// Ready reports whether the sale can be served: Redis answers, holds the sale and takes writes, and the
// connection for changes is up. With several slices one is enough: the others fail alone. It returns the
// orders that are not in the ledger yet. Errors: ErrUnavailable, ErrSaleGone, ErrWritesRefused.
func (s *Sale) Ready() (all Backlog, err error) {
	backlogs, errs := askSlices(s, (*slice).ready)
	for _, backlog := range backlogs {
		all.add(backlog)
	}
	if slices.Contains(errs, nil) {
		return all, nil
	}
	return Backlog{}, firstOf(errs)
}

func (x *slice) ready() (backlog Backlog, err error) {
	var held presence
	var write pipeline.Verdict
	c := backlog.ask(x.prove(pipeline.NewCall(), &held), x.keys.Stream)
	// A write that changes nothing, because no cart has an empty name. Redis judges it like an order, and knows
	// its memory, disk, role and rights better than INFO shows them.
	c.Command(&write, "LPUSHX", cartPrefix+x.keys.Tag, "")
	if err := x.read(c, &held); err != nil {
		return Backlog{}, err
	}
	if !x.changes.Up() {
		return Backlog{}, ErrUnavailable
	}
	if write.Refused != "" {
		return Backlog{}, fmt.Errorf("%w: %s", ErrWritesRefused, write.Refused)
	}
	return backlog, nil
}

// Backlog describes the orders of a sale that are not in its ledger yet.
type Backlog struct {
	Kept   bool // the sale keeps a ledger
	Orders int  // waiting

	oldest []radix.StreamEntry // the first waiting order, if any
}

// ReadBacklog asks a Redis which orders of the sale are not in its ledger yet.
func ReadBacklog(ctx context.Context, cfg Config, sale string) (all Backlog, err error) {
	for i := range cfg.SliceCount() {
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
