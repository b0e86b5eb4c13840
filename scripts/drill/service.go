package main

import (
	"sync"
	"time"

	"flashsale/internal/testkit/launch"
)

// restartDelay is the default of systemd's RestartSec; scripts/deploy has a second, for a shorter log while
// Redis is away.
const restartDelay = 100 * time.Millisecond

// service is a program that starts again when it ends by itself, as under systemd, but not when the drill
// ended it.
type service struct {
	name    string
	program launch.Program

	mu   sync.Mutex
	run  *launch.Process
	kept bool
}

func (s *service) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.startLocked()
}

func (s *service) startLocked() error {
	run, err := s.program.Start()
	if err != nil {
		return err
	}
	s.run, s.kept = run, true
	go s.keep(run)
	return nil
}

func (s *service) keep(run *launch.Process) {
	<-run.Ended()
	time.Sleep(restartDelay)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept && s.run == run {
		_ = s.startLocked() // it has started before; the next call notices a failure
	}
}

// process is the present run, nil before the first start.
func (s *service) process() *launch.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}

// release lets the process end, and returns it; nil before the first start.
func (s *service) release() *launch.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = false
	return s.run
}

// kill ends the process at once; only start starts it again.
func (s *service) kill() { s.release().Kill() }

// stop ends the process in order.
func (s *service) stop() {
	if run := s.release(); run != nil {
		run.Stop()
	}
}

func (s *service) pid() int { return s.process().Pid() }
