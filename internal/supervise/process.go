package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"time"

	"flashsale/internal/store/child"
)

// process is one worker process.
type process struct {
	name    string // such as "sale worker 0"
	cmd     *exec.Cmd
	log     *slog.Logger
	started time.Time
	ready   chan struct{} // closed when the worker is ready
	ended   chan struct{} // closed when it has ended; its status is then in cmd.ProcessState
}

// launch starts a worker on the slot's socket.
func launch(s *slot, parcel packed) (*process, error) {
	sealed, err := parcel.seal()
	if err != nil {
		return nil, err
	}
	defer sealed.Close()
	hear, tell, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot make pipe to %s: %w", s.name(), err)
	}
	defer tell.Close()
	files := []*os.File{sealed, tell}
	if s.port != nil {
		listener, err := s.socket.file()
		if err != nil {
			hear.Close()
			return nil, err
		}
		defer listener.Close()
		files = append(files, listener)
	}

	cmd := exec.Command(child.Program(), os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = append(files, parcel.files...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s/%d", roleVariable, s.role.Name, s.number))
	if s.role.Processors > 0 {
		cmd.Env = append(cmd.Env, fmt.Sprintf("GOMAXPROCS=%d", s.role.Processors))
	}
	return watch(s, cmd, hear)
}

// watch starts cmd and follows it through hear, its end of the pipe, and its exit status.
func watch(s *slot, cmd *exec.Cmd, hear *os.File) (*process, error) {
	p := &process{name: s.name(), cmd: cmd, log: s.log(), started: time.Now(),
		ready: make(chan struct{}), ended: make(chan struct{})}
	if err := child.StartBatch(cmd, syscall.SIGKILL); err != nil {
		hear.Close()
		return nil, fmt.Errorf("cannot start %s: %w", p.name, err)
	}
	go func() {
		defer hear.Close()
		if n, _ := hear.Read(make([]byte, 1)); n == 1 {
			close(p.ready)
		}
	}()
	go func() {
		_ = cmd.Wait() // its status is in cmd.ProcessState
		close(p.ended)
	}()
	return p, nil
}

// awaitReady returns nil once the worker is ready. On an error the worker has ended or was killed.
func (p *process) awaitReady(ctx context.Context, limit time.Duration) error {
	select {
	case <-p.ready:
		return nil
	case <-p.ended:
		return fmt.Errorf("%s ended before it was ready: %s; its message is above", p.name, p.cmd.ProcessState)
	case <-time.After(limit):
		p.kill()
		return fmt.Errorf("%s was not ready within %s", p.name, limit)
	case <-ctx.Done():
		p.kill() // it has no connections yet
		return ctx.Err()
	}
}

// drain tells the worker to stop, and kills it after limit.
func (p *process) drain(limit time.Duration) {
	if child.Finish(p.cmd.Process, p.ended, syscall.SIGTERM, limit) {
		p.log.Warn("worker did not end in time and was killed", "limit", limit)
	}
}

// retire tells a replaced worker to finish its connections, and kills it after limit. If ctx ends before
// that, the worker is drained like every other one.
func (p *process) retire(ctx context.Context, limit time.Duration) {
	p.signal(syscall.SIGHUP)
	select {
	case <-p.ended:
	case <-time.After(limit):
		p.log.Warn("replaced worker did not end in time and was killed", "limit", limit)
		p.kill()
	case <-ctx.Done():
		p.drain(limit)
	}
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

func (p *process) signal(signal syscall.Signal) {
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.log.Error("cannot signal worker", "signal", signal, "error", err)
	}
}
