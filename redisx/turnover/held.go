package turnover

import (
	"context"
	"errors"
	"fmt"
	"time"

	"flashsale/redisx"
	"flashsale/redisx/held"
	"flashsale/redisx/pipeline"
)

// stillHeldIn returns how many orders of a sale are held, and when the last hold ends as it is now. In a
// closed sale the number never grows.
func stillHeldIn(
	ctx context.Context, cfg redisx.Config, sale string,
) (orders int64, until time.Time, err error) {
	for slice := range cfg.SliceCount() {
		n, last, err := heldInSlice(ctx, cfg, sale, slice)
		if err != nil {
			return 0, time.Time{}, fmt.Errorf("cannot count the held orders of sale %s: %w", sale, err)
		}
		if orders += n; last.After(until) {
			until = last
		}
	}
	return orders, until, nil
}

func heldInSlice(
	ctx context.Context, cfg redisx.Config, sale string, slice int,
) (orders int64, last time.Time, err error) {
	l, err := pipeline.Dial(ctx, cfg.Slice(slice))
	if err != nil {
		return 0, last, err
	}
	defer l.Close()
	var due []int64 // user, Unix ms
	holds := cfg.KeysOf(sale, slice).Holds
	x := pipeline.Command(&orders, "ZCARD", holds).Command(&due, "ZRANGE", holds, "-1", "-1", "WITHSCORES")
	if err := l.Do(x, cfg.Timeout); err != nil {
		return 0, last, err
	}
	if len(due) == 2 {
		last = time.UnixMilli(due[1]).UTC()
	}
	return orders, last, nil
}

func heldError(orders int64, until time.Time) error {
	return fmt.Errorf("%w: %d, the last one until %s", ErrHeld, orders, until.Format(time.RFC3339))
}

// releaseHeld releases the held orders of a sale that is ended by force. It closes the sale first, so that
// no more come.
func (n *Next) releaseHeld(ctx context.Context, cfg redisx.Config) error {
	if !n.Force {
		return nil
	}
	orders, _, err := stillHeldIn(ctx, cfg, n.Before)
	if err != nil || orders == 0 {
		return err
	}
	sale, leave, err := redisx.Connect(ctx, cfg, n.Before, 0)
	if errors.Is(err, redisx.ErrSaleGone) { // it has ended: begin tells so
		return nil
	}
	if err != nil {
		return err
	}
	defer leave()
	if _, err := sale.Change(redisx.Change{By: n.by(), State: redisx.StateClosed}); err != nil {
		return err
	}
	return held.ReleaseAll(ctx, cfg, n.Before, held.Ended)
}
