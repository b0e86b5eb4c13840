package app

import (
	"context"
	"time"

	"flashsale/handlers"
	"flashsale/internal/background"
	"flashsale/internal/rooms/holds"
	"flashsale/redisx/held"
)

var holdsRoom = room{name: "held orders", serve: (*worker).serveHolds}

// serveHolds serves held orders and releases those whose hold is over. Rooms that stop before this one may
// use w.held until they have ended.
func (w *worker) serveHolds() (part, error) {
	if w.Redis.Hold == 0 {
		return part{}, nil
	}
	w.held = held.New(w.Redis, w.Sale, len(w.catalog.Foods()))
	released := func(orders int, late time.Duration) {
		w.count.OrdersExpired.Add(uint64(orders))
		w.count.ReleaseDelay.Observe(late)
	}
	sweeps := holds.New(holds.Config{Orders: w.held, Slices: w.Redis.SliceCount(), Released: released})
	run := func(ctx context.Context) error {
		background.Beside(w.held.Run, func() { _ = sweeps.Run(ctx) }) // nil
		return nil
	}
	return part{routes: handlers.Holds(w.held, w.pastOrders()), up: w.held.Up, run: run}, nil
}
