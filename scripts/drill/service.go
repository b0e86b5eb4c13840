package main

import (
	"os/exec"
	"sync"
	"time"
)

// restartDelay is RestartSec of systemd as it comes; scripts/deploy has a second, to spare the log of a server without Redis.
const restartDelay = 100 * time.Millisecond

// service is a process that is started again when it ends by itself, as systemd would do it, but not when the drill ended it.
type service struct {
	name, log string
	command   func() *exec.Cmd

	mu   sync.Mutex
	proc *process
	kept bool
}

func (s *service) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.startLocked()
}

func (s *service) startLocked() error {
	proc, err := startProcess(s.name, s.command(), s.log)
	if err != nil {
		return err
	}
	s.proc, s.kept = proc, true
	go s.keep(proc)
	return nil
}

func (s *service) keep(proc *process) {
	<-proc.ended
	time.Sleep(restartDelay)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept && s.proc == proc {
		_ = s.startLocked() // a program that was started before; who waits for its answer will see
	}
}

// release makes the process one that may end, and returns it; nil when none was started.
func (s *service) release() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = false
	return s.proc
}

// kill ends the process at once; only start starts it again.
func (s *service) kill() { s.release().kill() }

// stop ends the process in order.
func (s *service) stop() {
	if proc := s.release(); proc != nil {
		proc.stop()
	}
}

func (s *service) pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc.pid()
}
