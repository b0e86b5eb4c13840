package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"flashsale/internal/child"
)

const (
	startMax  = 20 * time.Second // a bound on what hangs: a start takes a tenth of a second
	stopMax   = 10 * time.Second
	pollEvery = 5 * time.Millisecond
	logShown  = 2000 // bytes of the end of each log of a failed drill
)

// process is a program that the drill started. It never outlives the drill.
type process struct {
	name  string
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has
}

// startProcess starts cmd; what it writes is added to the file log.
func startProcess(name string, cmd *exec.Cmd, log string) (*process, error) {
	file, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", name, err)
	}
	defer file.Close()
	cmd.Stderr = file
	if cmd.Stdout == nil {
		cmd.Stdout = file
	}
	if err := child.Start(cmd, syscall.SIGKILL); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", name, err)
	}
	p := &process{name: name, cmd: cmd, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // its status is in cmd.ProcessState
		close(p.ended)
	}()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill ends the process at once, frozen or not, and returns when it has ended.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // the only error is that it has ended
	<-p.ended
}

// stop ends the process in order.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGCONT) // a frozen one would not hear the other
	child.Finish(p.cmd.Process, p.ended, syscall.SIGTERM, stopMax)
}

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// await polls until the condition holds.
func await(ctx context.Context, what string, limit time.Duration, holds func() bool) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	deadline := time.After(limit)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			return fmt.Errorf("no %s within %v", what, limit)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// pause waits for d; ctx ends it early, and what comes next will notice.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// statusField reads a number of /proc/PID/status, such as VmRSS (kB) and Threads; 0 when the process has ended.
func statusField(pid int, name string) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, name+":"); found {
			number, _ := strconv.ParseInt(strings.Fields(value)[0], 10, 64) // the kernel writes a number there
			return number
		}
	}
	return 0
}
