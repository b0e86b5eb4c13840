package turnover

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx"
	"flashsale/redisx/held"
	"flashsale/redisx/pipeline"
)

// holds is what a sale knows of held orders.
type holds struct {
	orders int64     // that are held; in a closed sale the number never grows
	until  time.Time // when the last hold ends as it is now
	events string    // ids of the last events of all slices: others mean that orders have changed since
}

// readHolds reads the holds of a sale.
func readHolds(ctx context.Context, cfg redisx.Config, sale string) (h holds, err error) {
	for slice := range cfg.SliceCount() {
		if err := h.add(ctx, cfg, sale, slice); err != nil {
			return holds{}, fmt.Errorf("cannot count the held orders of sale %s: %w", sale, err)
		}
	}
	return h, nil
}

// add adds those of a slice.
func (h *holds) add(ctx context.Context, cfg redisx.Config, sale string, slice int) error {
	l, err := pipeline.Dial(ctx, cfg.Slice(slice))
	if err != nil {
		return err
	}
	defer l.Close()
	var orders int64
	var due []int64 // user, Unix ms
	var last []radix.StreamEntry
	k := cfg.KeysOf(sale, slice)
	x := pipeline.Command(&orders, "ZCARD", k.Holds).Command(&due, "ZRANGE", k.Holds, "-1", "-1", "WITHSCORES").
		Command(&last, "XREVRANGE", k.Events, "+", "-", "COUNT", "1")
	if err := l.Do(x, cfg.Timeout); err != nil {
		return err
	}
	h.orders += orders
	if len(due) == 2 && due[1] > h.until.UnixMilli() {
		h.until = time.UnixMilli(due[1]).UTC()
	}
	for _, entry := range last {
		h.events += fmt.Sprintf("%d:%s ", slice, entry.ID)
	}
	return nil
}

// error is why a sale with held orders may not end; nil without any.
func (h *holds) error() error {
	if h.orders == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d, the last one until %s", ErrHeld, h.orders, h.until.Format(time.RFC3339))
}

// releaseHeld releases the held orders of a sale that is ended by force. It closes the sale first, so that
// no more come.
func (n *Next) releaseHeld(ctx context.Context, cfg redisx.Config) error {
	if !n.Force {
		return nil
	}
	found, err := readHolds(ctx, cfg, n.Before)
	if err != nil || found.orders == 0 {
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
