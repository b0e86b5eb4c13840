// Package supervise runs the server as worker processes on one port: it holds their listening sockets, starts them,
// restarts those that crash with a back-off, replaces them one by one and stops them.
//
// It must not serve requests or know what workers do, and it is never on the path of a request. It is slow where it
// waits for workers to become ready or to finish their connections.
package supervise

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// A worker that is not ready by then never will be, and is killed.
	readyLimit = 30 * time.Second
	// What a worker gets beyond Config.Drain before it is killed: its own deadline comes first.
	killGrace = time.Second
)

// ErrStopped is the outcome of a Roll when the supervisor has ended.
var ErrStopped = errors.New("supervisor has stopped")

// Config says what to run.
type Config struct {
	Workers int           // processes, at least 1
	Address string        // host:port, port 0 for any free one
	Drain   time.Duration // what a worker gets to answer what is in flight; it is killed one second later
}

// Supervisor holds the sockets and the worker processes behind them.
type Supervisor struct {
	address  string
	slots    []*slot
	open     atomic.Int64 // sockets
	starting atomic.Int64 // slots whose first worker is not ready yet
	ready    chan struct{}
	stopped  chan struct{}
	rolling  sync.Mutex
}

// New opens the listening sockets, one per worker, on a port that nobody else uses. Connections wait in them until Run;
// a Supervisor that will not run must be closed.
func New(cfg Config) (*Supervisor, error) {
	if cfg.Workers < 1 {
		return nil, fmt.Errorf("cannot supervise %d workers, the least is 1", cfg.Workers)
	}
	address, err := claim(cfg.Address)
	if err != nil {
		return nil, err
	}
	s := &Supervisor{address: address, ready: make(chan struct{}), stopped: make(chan struct{})}
	s.starting.Store(int64(cfg.Workers))
	for number := range cfg.Workers {
		opened, err := listen(address)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.open.Add(1)
		s.slots = append(s.slots, &slot{
			number:     number,
			address:    address,
			finish:     cfg.Drain + killGrace,
			readyLimit: readyLimit,
			socket:     opened,
			open:       &s.open,
			rolls:      make(chan roll),
		})
	}
	return s, nil
}

// Close closes the sockets of a Supervisor that has not run.
func (s *Supervisor) Close() {
	for _, slot := range s.slots {
		slot.socket.close()
	}
}

// Address is the host:port that the sockets listen on.
func (s *Supervisor) Address() string { return s.address }

// Listener gives the first socket away, to a process that serves alone instead of Run.
func (s *Supervisor) Listener() (net.Listener, error) {
	file, err := s.slots[0].socket.file()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	defer s.Close()
	listener, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", s.address, err)
	}
	return listener, nil
}

// Ready is closed when every slot's first worker has said that it is ready.
func (s *Supervisor) Ready() <-chan struct{} { return s.ready }

// Run starts the workers, gives each the handover, and keeps them running until ctx is done. Then it closes the sockets, tells all workers to
// drain and returns nil when the last has ended, killed if need be. A worker that ends before it was ever ready stops
// everything with an error, as it would fail again and again. To be called once.
func (s *Supervisor) Run(ctx context.Context, handover Handover) error {
	defer close(s.stopped)
	if err := handover.check(); err != nil {
		s.Close()
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, slot := range s.slots {
		slot.handover = handover
		group.Go(func() error { return slot.run(ctx, s.started) })
	}
	return group.Wait()
}

func (s *Supervisor) started() {
	if s.starting.Add(-1) == 0 {
		close(s.ready)
	}
}

// Roll replaces the workers one by one. Each new one gets handover and the old one's socket; once it is ready, the old
// one gets SIGHUP and finishes its connections. A new one that does not become ready leaves the old one in place and
// ends the roll with an error. Workers started later get the handover with which their slot last succeeded, so the
// files of an earlier handover may be closed only after a Roll without error.
func (s *Supervisor) Roll(ctx context.Context, handover Handover) error {
	if err := handover.check(); err != nil {
		return err
	}
	s.rolling.Lock()
	defer s.rolling.Unlock()
	for _, slot := range s.slots {
		result := make(chan error, 1)
		select {
		case slot.rolls <- roll{handover, result}:
		case <-s.stopped:
			return ErrStopped
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case err := <-result:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
