// Package launch builds and starts the programs that tests and scripts work with: the server and other
// programs of this module, redis-server, MariaDB, a proxy with faults between them, on free ports.
//
// Its functions return errors; the functions in testing.go end the test instead. No started program outlives
// this process. Callers make the faults: they kill, freeze and restart; the package itself has only faults
// of the network. The first build of a program is slow.
package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"flashsale/internal/proc"
	"flashsale/internal/store/child"
	"flashsale/internal/testkit"
)

// For programs that hang. A start takes a tenth of a second, or some seconds for MariaDB and under the race
// detector.
const (
	startMax = 60 * time.Second
	StopMax  = 40 * time.Second // for a program to end in order
)

// Program is a program to start.
type Program struct {
	Path   string // a name without a slash is found on PATH
	Args   []string
	Env    []string // its whole environment, beside PATH
	Log    string   // file to which it writes
	Stdout string   // another file for its standard output; "" = Log
	Batch  bool     // see child.StartBatch
}

// Process is one run of a program.
type Process struct {
	Program
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process has ended
}

// Start starts the program. It appends to its files.
func (p Program) Start() (*Process, error) {
	cmd := exec.Command(p.Path, p.Args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, p.Env...)
	// Files, not pipes: Wait would wait until the program's children close a pipe too.
	log, err := openLog(p.Log)
	if err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", p.Path, err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if p.Stdout != "" {
		stdout, err := openLog(p.Stdout)
		if err != nil {
			return nil, fmt.Errorf("cannot start %s: %w", p.Path, err)
		}
		defer stdout.Close()
		cmd.Stdout = stdout
	}
	start := child.Start
	if p.Batch {
		start = child.StartBatch
	}
	if err := start(cmd, syscall.SIGKILL); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", p.Path, err)
	}
	run := &Process{Program: p, cmd: cmd, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // its status is in cmd.ProcessState
		close(run.ended)
	}()
	return run, nil
}

func openLog(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}

// Pid is the process ID.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Running reports whether the process has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Signal sends a signal; an ended process is no error.
func (p *Process) Signal(signal os.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("cannot send %v to %s: %w", signal, p.Path, err)
	}
	return nil
}

// SignalTree sends a signal to the process and all its descendants.
func (p *Process) SignalTree(signal syscall.Signal) error {
	table, err := proc.All()
	if err != nil {
		return err
	}
	for _, one := range proc.Tree(table, p.Pid()) {
		_ = syscall.Kill(one.PID, signal) // the only error is that it has ended
	}
	return nil
}

// Kill ends the process at once, frozen or not, and returns when it has ended. Its own processes from
// child.Start end with it.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // the only error is that it has ended
	<-p.ended
}

// Stop ends the process in order and reports whether it had to be killed after StopMax.
func (p *Process) Stop() (killed bool) {
	_ = p.cmd.Process.Signal(syscall.SIGCONT) // a frozen process ignores SIGTERM
	return child.Finish(p.cmd.Process, p.ended, syscall.SIGTERM, StopMax)
}

// State is the exit state of the process, which must have ended.
func (p *Process) State() *os.ProcessState { return p.cmd.ProcessState }

// Await waits for a state that the process brings about. It returns an error with the end of the log after
// limit, or when the process ends instead.
func (p *Process) Await(ctx context.Context, what string, limit time.Duration, holds func() bool) error {
	held := false
	err := testkit.Await(ctx, what, limit, func() bool {
		running := p.Running() // before holds: the acts of an ended process count
		held = holds()
		return held || !running
	})
	if err == nil && !held {
		err = fmt.Errorf("no %s: %s has ended (%v)", what, p.Path, p.State())
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, tail(p.Log))
	}
	return nil
}

// tail is the end of a file.
func tail(path string) string {
	const shown = 4000 // bytes
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-shown):])
}
