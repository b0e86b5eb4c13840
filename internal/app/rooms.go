package app

import (
	"context"
	"time"

	"flashsale/handlers"
	"flashsale/internal/config"
	"flashsale/internal/observe/ops"
	"flashsale/redisx"
)

// rooms are all rooms. In a process they start in this order and stop in the reverse order.
var rooms = []room{ledgerRoom, holdsRoom, paymentsRoom, correctionsRoom, eventsRoom, limitsRoom,
	repeatsRoom, blocklistRoom, trafficRoom, liveRoom, sessionsRoom, accountsRoom, presenceRoom, threadsRoom,
	pushRoom, imagesRoom, demandRoom, nextRoom, pageRoom, operatorsRoom, oidcRoom, rulesRoom}

// A room is a feature beside the sale, off the order path. It may have a part in the supervisor and a part
// in each worker. To add a room: its package in internal/rooms, its calls in handlers/<room>.go, its flags
// in internal/config/<room>.go, its value in a file here, its calls and its tag in openapi.yaml, and its
// name in the list above. Two lists follow: the groups of flags in config.go, and the rooms of
// TestDescriptionHasRoutes. go test ./handlers -run TestDescription -update and go test ./internal/config
// -update make anew what is made from them. A metric is a line in internal/observe/figures/table.go.
type room struct {
	name string
	// read reads the room's files at the start and, if again reports true, on SIGHUP. The workers get the
	// result as JSON: see handover.take.
	read   func(*config.Config) (any, error)
	again  func(*config.Config) bool
	fits   func(o *opening, read any) error // reports a fault of what was read, for these users and foods
	readAs string                           // the name of the result in the log of SIGHUP

	keep  func(*supervisor, context.Context) (part, error)
	serve func(*worker) (part, error)
}

// part is a room in one process. Every field is optional: a room that is off has an empty part.
type part struct {
	name string // of the room
	run  func(context.Context) error

	// Called in the supervisor.
	reloaded func(*opening)                           // after SIGHUP, when the workers serve this opening
	followed func(*opening)                           // when the workers serve the next sale
	changed  func(sale string, log []redisx.LogEntry) // gets what is new in the log of the sale
	figures  ops.Room

	// Used in a worker.
	routes  handlers.Room
	up      func() bool            // reports whether its Redis is connected
	stock   func(*redisx.Snapshot) // gets each snapshot; one goroutine calls it
	retired func()                 // after SIGHUP has replaced this worker; may be called again
	stop    func(end time.Time)    // when the worker begins to stop, which ends at end
}

// readRooms reads the files of all rooms.
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

// fits reports a fault of what rooms have read.
func (o *opening) fits() error {
	for _, r := range rooms {
		if r.fits != nil {
			if err := r.fits(o, o.rooms[r.name]); err != nil {
				return err
			}
		}
	}
	return nil
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

// serveRooms makes the worker's parts of the rooms and adds their calls to the server.
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

// tasksOf returns the tasks of parts.
func tasksOf(parts []part) (list []task) {
	for _, p := range parts {
		if p.run != nil {
			list = append(list, task{p.name, p.run})
		}
	}
	return list
}
