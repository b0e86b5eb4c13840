// Package supervise runs the server as worker processes: it holds their listening sockets, starts them,
// restarts those that crash with a back-off, replaces them one by one and stops them. Workers come in
// roles; the workers of a role share a port and get the same handover.
//
// It must not serve requests or know what workers do, and it is never on the path of a request. It is
// slow where it waits for workers to become ready or to finish their connections.
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
	// A worker that is not ready by then never will be, and is killed.
	readyLimit = 30 * time.Second
	// The time a worker has beyond Config.Drain before it is killed: its own deadline comes first.
	killGrace = time.Second
)

// ErrStopped is the outcome of a Roll when the supervisor has ended.
var ErrStopped = errors.New("supervisor has stopped")

// Config lists the workers to run.
type Config struct {
	Roles []Role
	Drain time.Duration // for a worker to answer requests in flight; it is killed one second later
}

// Supervisor holds the sockets and the worker processes behind them.
type Supervisor struct {
	ports    map[string]*port // by role; nil for a role without sockets
	slots    []*slot          // of all roles
	parcels  []packed         // of the last handover that all slots have
	starting atomic.Int64     // slots with a first worker that is not ready yet
	ready    chan struct{}
	stopped  chan struct{}
	rolling  sync.Mutex
}

// New opens the listening sockets, one per worker, on ports that no other program uses. Connections wait
// in them until Run; a Supervisor that will not run must be closed.
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

// Address is the host:port on which the workers of a role listen, "" for a role without sockets.
func (s *Supervisor) Address(role string) string {
	if s.ports[role] == nil {
		return ""
	}
	return s.ports[role].address
}

// Ready is closed when the first worker of every slot is ready.
func (s *Supervisor) Ready() <-chan struct{} { return s.ready }

// Run starts the workers, gives each the parcel of its role, and keeps them running until ctx is done.
// Then it closes the sockets, tells all workers to drain, kills those that take too long, and returns nil
// when the last has ended. A worker that ends before it was ever ready stops everything with an error, as
// it would fail again and again. To be called once.
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

// Roll replaces the workers one by one. Each new one gets the parcel of its role and the old one's
// socket; once it is ready, the old one gets SIGHUP and finishes its connections. A new one that does not
// become ready leaves the old one in place and ends the roll with an error; the slots that have a new worker
// then get one with the handover before. Workers started later get the handover with which their slot last
// succeeded, so the files of an earlier handover may be closed only after a Roll without error.
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

// rollBack gives the first slots the handover before again.
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
