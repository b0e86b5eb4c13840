package supervise

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"syscall"
	"time"

	"flashsale/internal/store/child"
)

// During a longer back-off than this a slot gives up its socket.
const socketKept = time.Second / 2

// slot is the place of one worker: its socket, its current worker, and replaced workers that still finish
// their connections. Only the goroutine in run uses it.
type slot struct {
	role       Role
	number     int           // in its role, from 0
	port       *port         // of the role; nil for a role without sockets
	finish     time.Duration // for a worker to end by itself
	readyLimit time.Duration

	socket   socket
	parcel   packed
	current  *process         // nil during a back-off
	restart  <-chan time.Time // fires at the end of a back-off, else nil
	backoff  child.Backoff
	replaced []*process // some may have ended
	retiring sync.WaitGroup
	rolls    chan roll
}

// roll asks a slot to replace its worker.
type roll struct {
	parcel packed
	result chan<- error // has room for the answer
}

// name names the slot's worker.
func (s *slot) name() string { return fmt.Sprintf("%s worker %d", s.role.Name, s.number) }

func (s *slot) log() *slog.Logger { return slog.With("role", s.role.Name, "worker", s.number) }

// listen opens the slot's socket, unless it is open or the role has no sockets.
func (s *slot) listen() error {
	if s.port == nil || s.socket != noSocket {
		return nil
	}
	opened, err := listen(s.port.address)
	if err != nil {
		return err
	}
	s.socket = opened
	s.port.open.Add(1)
	return nil
}

// run keeps a worker in the slot until ctx ends, and calls started once, when the first worker is ready. It
// returns an error only if that first worker cannot be started.
func (s *slot) run(ctx context.Context, started func()) error {
	defer s.retiring.Wait()
	defer s.socket.close()
	first, err := s.start(ctx, s.parcel)
	if ctx.Err() != nil {
		if err == nil {
			first.drain(s.finish)
		}
		return nil
	}
	if err != nil {
		return err
	}
	s.current = first
	started()
	for {
		select {
		case <-ctx.Done():
			s.stop()
			return nil
		case <-s.ended():
			s.crashed(ctx)
		case <-s.restart:
			s.revive(ctx)
		case r := <-s.rolls:
			r.result <- s.replace(ctx, r.parcel)
		}
	}
}

// start starts a worker on the slot's socket and waits until it is ready.
func (s *slot) start(ctx context.Context, parcel packed) (*process, error) {
	if err := s.listen(); err != nil {
		return nil, err
	}
	p, err := launch(s, parcel)
	if err != nil {
		return nil, err
	}
	if err := p.awaitReady(ctx, s.readyLimit); err != nil {
		return nil, err
	}
	return p, nil
}

// ended is closed after the end of the current worker; it is nil during a back-off.
func (s *slot) ended() <-chan struct{} {
	if s.current == nil {
		return nil
	}
	return s.current.ended
}

func (s *slot) crashed(ctx context.Context) {
	if ctx.Err() != nil {
		return // stopped from outside at the same moment
	}
	gone := s.current
	s.current = nil
	delay := s.backOff(time.Since(gone.started))
	s.log().Error("worker ended and is started again", "status", gone.cmd.ProcessState.String(), "delay", delay)
}

// revive starts a worker after its back-off.
func (s *slot) revive(ctx context.Context) {
	s.restart = nil
	p, err := s.start(ctx, s.parcel)
	if err == nil {
		s.current = p
		s.log().Info("worker is ready again")
		return
	}
	if ctx.Err() == nil {
		s.log().Error("worker did not start again", "error", err, "delay", s.backOff(0))
	}
}

// backOff begins a back-off after a worker that lived for alive, and returns the length of the back-off.
func (s *slot) backOff(alive time.Duration) time.Duration {
	delay := s.backoff.After(alive)
	s.restart = time.After(delay)
	if delay > socketKept && s.socket != noSocket {
		// The kernel would still give this socket its share of new connections, which would wait for seconds or
		// for ever. Without the socket they go to the other slots; the few that already wait are reset. The last
		// socket stays open: it keeps the port from other programs.
		if s.port.open.Add(-1) > 0 {
			s.socket.close()
		} else {
			s.port.open.Add(1)
		}
	}
	return delay
}

// replace puts a new worker in the slot. If the new worker does not become ready, nothing changes.
func (s *slot) replace(ctx context.Context, parcel packed) error {
	next, err := s.start(ctx, parcel)
	if err != nil {
		return fmt.Errorf("cannot replace %s, the old one stays: %w", s.name(), err)
	}
	s.replaced = slices.DeleteFunc(s.replaced, (*process).hasEnded)
	for _, p := range s.replaced {
		p.signal(syscall.SIGHUP)
	}
	if old := s.current; old != nil {
		s.retiring.Go(func() { old.retire(ctx, s.finish) })
		s.replaced = append(s.replaced, old)
	}
	s.current, s.parcel, s.restart = next, parcel, nil
	return nil
}

func (s *slot) stop() {
	// First the supervisor's copy: then connections are refused, not left waiting, once the worker closes its
	// copy.
	s.socket.close()
	if s.current != nil {
		s.current.drain(s.finish)
	}
}
