// Package holds releases orders whose hold is over. Every worker sweeps all slices; what one of them has
// released is gone for the others, so none must be there. A sweep is a script of about 100 us, and it pauses
// after each one: orders go on in between.
package holds

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/logpace"
	"flashsale/redisx"
	"flashsale/redisx/held"
)

const (
	// Between two looks at a slice where nothing more is due. A hold that ends meanwhile waits for the next
	// look of any worker, so that a sweep releases several orders: one for each would cost Redis much more.
	look  = 100 * time.Millisecond
	pause = time.Millisecond // between two sweeps while more is due
)

// Config of Holds.
type Config struct {
	Orders   *held.Orders
	Slices   int
	Released func(orders int, late time.Duration) // counts; nil for nothing
}

// Holds sweeps the slices of a sale.
type Holds struct {
	cfg  Config
	pace logpace.Pace
}

// New makes Holds.
func New(cfg Config) *Holds { return &Holds{cfg: cfg} }

// Run sweeps until ctx ends, and returns nil then.
func (h *Holds) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for slice := range max(h.cfg.Slices, 1) {
		running.Go(func() { background.Repeat(ctx, func() time.Duration { return h.sweep(slice) }) })
	}
	running.Wait()
	return nil
}

// sweep releases what is due of a slice and returns when to look again.
func (h *Holds) sweep(slice int) time.Duration {
	r, err := h.cfg.Orders.Release(slice)
	switch {
	case err != nil:
		logged := errors.Is(err, redisx.ErrSaleGone) || errors.Is(err, redisx.ErrUnavailable) // by the connections
		if !logged && h.pace.Due(time.Now()) > 0 {
			slog.Error("held orders are not released", "slice", slice, "error", err)
		}
	case r.Orders > 0 && h.cfg.Released != nil:
		h.cfg.Released(r.Orders, r.Late)
	}
	if r.More {
		return pause + rand.N(pause)
	}
	return look + rand.N(look)
}
