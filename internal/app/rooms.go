package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// saleRole is the role of the workers that serve the sale.
const saleRole = "sale"

// The store is the supervisor's first room, because a sale is opened in it; these follow. The workers
// stop first and drain into Redis, the ledger writes what they leave there, and the store ends last.
func (s *supervisor) rooms() []room {
	var list []room
	if s.ledger != nil {
		list = append(list, room{"ledger", s.keepLedger})
	}
	if s.repeats = s.newRepeatsKeeper(); s.repeats != nil {
		list = append(list, room{"repeats", s.repeats.Run})
	}
	if s.blocklist != nil {
		list = append(list, room{"blocklist", s.blocklist.Run})
	}
	statistics := s.newTrafficKeeper()
	if statistics != nil {
		list = append(list, room{"traffic", statistics.Run})
	}
	if s.listed != nil {
		list = append(list, room{"blocklist's metrics", s.listed.Run})
	}
	if s.opsListener != nil {
		s.metrics = s.newOps(statistics)
		list = append(list, room{"ops", s.metrics.Run})
	}
	list = append(list, room{"next sale", s.followSales})
	return append(list, room{"workers", s.keepWorkers})
}

// rooms are those of a worker of the sale. The requests in flight end first: they need the stock and Redis.
func (w *worker) rooms(stop context.Context) []room {
	list := []room{
		{"redis", w.sale.Run},
		{"stock", w.publishStock},
	}
	if w.limits != nil {
		list = append(list, room{"limits", w.limits.Run})
	}
	if w.repeats != nil {
		list = append(list, room{"repeats", w.repeats.Run})
	}
	if w.blocklist != nil {
		list = append(list, room{"blocklist", w.blocklist.Run})
	}
	if w.traffic != nil {
		list = append(list, room{"traffic", w.traffic.Run})
	}
	if w.accessLog != nil {
		list = append(list, room{"access log", w.accessLog.Run})
	}
	if w.live != nil {
		list = append(list, room{"live", w.live.Run})
	}
	list = append(list, room{"http", func(ctx context.Context) error { return w.serve(ctx, stop) }})
	if w.loop != nil { // it runs the connections of all others
		list = slices.Insert(list, 0, room{"event loop", w.loop.Run})
	}
	return list
}

// A room runs in the background of a process. run works until its context ends, finishes what it has
// begun and returns. When it returns before, with or without an error, the whole process stops.
type room struct {
	name string
	run  func(context.Context) error
}

// rooms are the rooms of one process, in the order in which they were started. They stop in the reverse
// order, each after the one before it in that order has ended; so a room may use every room that stands
// before it to its own end.
type rooms struct {
	running []running
	over    chan struct{} // closed when a room has ended by itself
	once    sync.Once
}

type running struct {
	room
	cancel context.CancelFunc
	result chan error
}

func newRooms() *rooms { return &rooms{over: make(chan struct{})} }

// start starts more rooms. No signal ends them, only stop.
func (r *rooms) start(list ...room) {
	for _, room := range list {
		ctx, cancel := context.WithCancel(context.Background())
		result := make(chan error, 1)
		go func() {
			err := room.run(ctx)
			if early := ctx.Err() == nil; early {
				if err == nil {
					err = fmt.Errorf("%s has ended by itself", room.name)
				}
				r.once.Do(func() { close(r.over) })
			}
			result <- err
		}()
		r.running = append(r.running, running{room, cancel, result})
	}
}

// stop ends all rooms and returns their errors, also that of a room that has ended by itself.
func (r *rooms) stop() (err error) {
	for len(r.running) > 0 {
		last := r.running[len(r.running)-1]
		r.running = r.running[:len(r.running)-1]
		last.cancel()
		err = errors.Join(err, <-last.result)
	}
	return err
}
