// Package supervise runs the server as worker processes: it holds their listening sockets, starts the
// workers, restarts crashed workers with a back-off, replaces workers one by one, and stops them. The
// workers of a role share a port and get the same handover.
//
// It must not serve requests or know what workers do. It is slow where it waits for workers to become ready
// or to finish their connections.
package supervise

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// A worker that is not ready by then is killed.
	readyLimit = 30 * time.Second
	// A worker's time beyond Config.Drain before it is killed: its own deadline comes first.
	killGrace = time.Second
)

// ErrStopped is the outcome of a Roll after the end of the supervisor.
var ErrStopped = errors.New("supervisor has stopped")

// Config lists the workers to run.
type Config struct {
	Roles []Role
	Drain time.Duration // time for a worker to answer requests under way; it is killed one second later
}

// Supervisor holds the sockets and the worker processes behind them.
type Supervisor struct {
	ports    map[string]*port // by role; nil without sockets
	slots    []*slot          // of all roles
	parcels  []packed         // from the last handover that all slots have
	starting atomic.Int64     // slots with a first worker that is not ready
	ready    chan struct{}
	stopped  chan struct{}
	rolling  sync.Mutex
}

// New opens the listening sockets, one for each worker, on ports that no other program uses. Connections
// wait there until Run. A Supervisor that will not run must be closed.
func New(cfg Config) (*Supervisor, error) {
	if err := checkRoles(cfg.Roles); err != nil {
		return nil, err
	}
	s := &Supervisor{ports: map[string]*port{}, ready: make(chan struct{}), stopped: make(chan struct{})}
	for _, role := range cfg.Roles {
		if err := s.add(role, cfg.Drain+killGrace); err != nil {
			s.Close()
			return nil, err
		}
	}
	s.starting.Store(int64(len(s.slots)))
	return s, nil
}

// add makes the slots of a role.
func (s *Supervisor) add(role Role, finish time.Duration) error {
	shared, err := claimPort(role)
	if err != nil {
		return err
	}
	s.ports[role.Name] = shared
	for number := range role.Count {
		slot := &slot{role: role, number: number, port: shared, finish: finish, readyLimit: readyLimit,
			socket: noSocket, rolls: make(chan roll)}
		if err := slot.listen(); err != nil {
			return err
		}
		s.slots = append(s.slots, slot)
	}
	return nil
}

// Close closes the sockets of a Supervisor that has not run.
func (s *Supervisor) Close() {
	for _, slot := range s.slots {
		slot.socket.close()
	}
}

// Address is the host:port on which the workers of a role listen, "" without sockets.
func (s *Supervisor) Address(role string) string {
	if s.ports[role] == nil {
		return ""
	}
	return s.ports[role].address
}

// Ready is closed when the first worker of every slot is ready.
func (s *Supervisor) Ready() <-chan struct{} { return s.ready }

// Run starts the workers, gives each the parcel of its role, and keeps them running until ctx ends. Then it
// closes the sockets, tells all workers to drain, kills those that take too long, and returns nil after the
// last has ended. If a first worker ends before it is ready, Run stops everything with an error: it would
// fail again and again. To be called once.
func (s *Supervisor) Run(ctx context.Context, handover Handover) error {
	defer close(s.stopped)
	parcels, err := s.pack(handover)
	if err != nil {
		s.Close()
		return err
	}
	s.parcels = parcels
	group, ctx := errgroup.WithContext(ctx)
	for i, slot := range s.slots {
		slot.parcel = parcels[i]
		group.Go(func() error { return slot.run(ctx, s.started) })
	}
	return group.Wait()
}

func (s *Supervisor) started() {
	if s.starting.Add(-1) == 0 {
		close(s.ready)
	}
}

// Roll replaces the workers one by one. A new worker gets the parcel of its role and the old worker's
// socket; once it is ready, the old worker gets SIGHUP and finishes its connections. If a new worker does
// not become ready, the old one stays, Roll ends with an error, and the slots replaced so far go back to the
// handover before. Workers started later get the last handover that succeeded in their slot, so the files of
// an earlier handover may be closed only after a Roll without error.
func (s *Supervisor) Roll(ctx context.Context, handover Handover) error {
	parcels, err := s.pack(handover)
	if err != nil {
		return err
	}
	s.rolling.Lock()
	defer s.rolling.Unlock()
	for i, slot := range s.slots {
		if err := s.roll(ctx, slot, parcels[i]); err != nil {
			return errors.Join(err, s.rollBack(ctx, i))
		}
	}
	s.parcels = parcels
	return nil
}

// rollBack gives the first slots the handover from before the Roll.
func (s *Supervisor) rollBack(ctx context.Context, count int) error {
	for i, slot := range s.slots[:count] {
		if err := s.roll(ctx, slot, s.parcels[i]); err != nil && ctx.Err() == nil {
			return fmt.Errorf("%s keeps what the others do not have: %w", slot.name(), err)
		}
	}
	return nil
}

// roll replaces the worker of a slot.
func (s *Supervisor) roll(ctx context.Context, slot *slot, parcel packed) error {
	result := make(chan error, 1)
	select {
	case slot.rolls <- roll{parcel, result}:
	case <-s.stopped:
		return ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pack returns the parcel of each slot.
func (s *Supervisor) pack(handover Handover) ([]packed, error) {
	var parcels []packed
	for _, slot := range s.slots {
		parcel, err := handover.pack(slot.role)
		if err != nil {
			return nil, err
		}
		parcels = append(parcels, parcel)
	}
	return parcels, nil
}
