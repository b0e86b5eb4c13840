package app

import (
	"context"
	"time"

	"flashsale/handlers"
	"flashsale/internal/config"
	"flashsale/internal/observe/ops"
	"flashsale/redisx"
)

// rooms are all rooms. In a process they start in this order and stop in the reverse one: the ledger writes
// what the workers leave in Redis.
var rooms = []room{ledgerRoom, limitsRoom, repeatsRoom, blocklistRoom, trafficRoom, liveRoom, pageRoom}

// A room is something that the server does beside the sale, off the order path. It has a part in the
// supervisor and one in each worker. To add a room: its package in internal/rooms, its calls in
// handlers/<room>.go, its flags in internal/config/<room>.go, its value in a file here, its calls in
// openapi.yaml, and its name in the list above. Two lists follow: the groups of flags in config.go, and the
// rooms of the test that compares openapi.yaml with the table.
type room struct {
	name string
	// read reads what the room takes from files, at the start and, where again reports true, on SIGHUP. The
	// workers get it as JSON, see opening.take.
	read   func(*config.Config) (any, error)
	again  func(*config.Config) bool
	readAs string // the name of what is read in the log of SIGHUP

	keep  func(*supervisor, context.Context) (part, error)
	serve func(*worker) (part, error)
}

// part is what a room does in one process. All is optional: a room that is off has an empty part.
type part struct {
	name string // of the room
	run  func(context.Context) error

	// In the supervisor.
	reloaded func(*opening) // SIGHUP has replaced the workers by those of this opening
	followed func(*opening) // the workers serve the next sale
	figures  ops.Room

	// In a worker.
	routes  handlers.Room
	stock   func(*redisx.Snapshot) // takes each look at the stock; one goroutine calls it
	retired func()                 // another worker has taken the place of this one; it may be called again
	stop    func(end time.Time)    // the worker answers its last requests, until end at most
}

// readRooms reads what the rooms take from files.
func readRooms(cfg *config.Config) (values map[string]any, err error) {
	values = map[string]any{}
	for _, r := range rooms {
		if r.read != nil {
			if values[r.name], err = r.read(cfg); err != nil {
				return nil, err
			}
		}
	}
	return values, nil
}

// keepRooms makes the supervisor's parts of the rooms.
func (s *supervisor) keepRooms(ctx context.Context) error {
	for _, r := range rooms {
		if r.keep == nil {
			continue
		}
		p, err := r.keep(s, ctx)
		if err != nil {
			return err
		}
		p.name = r.name
		s.parts = append(s.parts, p)
	}
	return nil
}

// serveRooms makes the worker's parts of the rooms, and has the server answer their calls.
func (w *worker) serveRooms() error {
	for _, r := range rooms {
		if r.serve == nil {
			continue
		}
		p, err := r.serve(w)
		if err != nil {
			return err
		}
		p.name = r.name
		w.parts = append(w.parts, p)
		if p.routes != nil {
			w.server.Add(p.routes)
		}
	}
	return nil
}

// tasksOf are the tasks of parts.
func tasksOf(parts []part) (list []task) {
	for _, p := range parts {
		if p.run != nil {
			list = append(list, task{p.name, p.run})
		}
	}
	return list
}
