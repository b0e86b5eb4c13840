package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"flashsale/internal/child"
)

// process is one worker process, from its start to its end.
type process struct {
	slot    int
	cmd     *exec.Cmd
	started time.Time
	ready   chan struct{} // closed when the worker has said that it is ready
	ended   chan struct{} // closed when it has ended; its status is then in cmd.ProcessState
}

// launch starts a worker on the slot's socket.
func launch(slot int, s socket, handover Handover) (*process, error) {
	listener, err := s.file()
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	sealed, err := handover.seal()
	if err != nil {
		return nil, err
	}
	defer sealed.Close()
	hear, say, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot make pipe to worker %d: %w", slot, err)
	}
	defer say.Close()

	// The running binary, even when its file was replaced or removed since.
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = append([]*os.File{listener, sealed, say}, handover.Files...)
	// One processor each: the kernel balances the processes, and none pays to move goroutines between threads.
	cmd.Env = append(os.Environ(), roleVariable+"="+strconv.Itoa(slot), "GOMAXPROCS=1")
	p := &process{slot: slot, cmd: cmd, started: time.Now(), ready: make(chan struct{}), ended: make(chan struct{})}
	if err := child.StartBatch(cmd, syscall.SIGKILL); err != nil {
		hear.Close()
		return nil, fmt.Errorf("cannot start worker %d: %w", slot, err)
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

// awaitReady returns nil once the worker is ready. On any error the worker has ended, killed if need be.
func (p *process) awaitReady(ctx context.Context, limit time.Duration) error {
	select {
	case <-p.ready:
		return nil
	case <-p.ended:
		return fmt.Errorf("worker %d ended before it was ready: %s; its message is above", p.slot, p.cmd.ProcessState)
	case <-time.After(limit):
		p.kill()
		return fmt.Errorf("worker %d was not ready within %s", p.slot, limit)
	case <-ctx.Done():
		p.kill() // it serves nobody yet
		return ctx.Err()
	}
}

// drain tells the worker to stop and kills it when that takes longer than limit.
func (p *process) drain(limit time.Duration) {
	if child.Finish(p.cmd.Process, p.ended, syscall.SIGTERM, limit) {
		slog.Warn("worker did not end in time and was killed", "worker", p.slot, "limit", limit)
	}
}

// retire tells a worker that has been replaced to finish its connections, and ends it after limit. When ctx is done
// before, it is drained like every other.
func (p *process) retire(ctx context.Context, limit time.Duration) {
	p.signal(syscall.SIGHUP)
	select {
	case <-p.ended:
	case <-time.After(limit):
		slog.Warn("replaced worker did not end in time and was killed", "worker", p.slot, "limit", limit)
		p.kill()
	case <-ctx.Done():
		p.drain(limit)
	}
}

func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

func (p *process) signal(signal syscall.Signal) {
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		slog.Error("cannot signal worker", "worker", p.slot, "signal", signal, "err", err)
	}
}
