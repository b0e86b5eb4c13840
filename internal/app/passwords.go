package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"flashsale/internal/credentials"
	"flashsale/internal/store/child"
)

// hashCommand is the command of the process that hashes passwords for a worker. Behind it, atOnce has the
// process not yield.
const (
	hashCommand = "hash-passwords"
	atOnce      = "at-once"
)

// hashPasswords is that command: it answers credentials.Hasher on standard input and output.
func hashPasswords(_ context.Context, p *program, args []string) (code int) {
	var err error
	if !slices.Equal(args, []string{atOnce}) {
		err = yieldToOthers()
	}
	if err == nil {
		err = credentials.ServeHashes(os.Stdin, p.stdout)
	}
	if err != nil {
		fmt.Fprintln(p.stderr, "flashsale "+hashCommand+":", err)
		return 1
	}
	return 0
}

// yieldToOthers has this process run only while a processor has nothing else to do (SCHED_IDLE), so the sale
// interrupts it at once. Threads that begin later get it from the threads that begin them.
func yieldToOthers() error {
	for range 2 { // a thread may have begun beside the first pass
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			if err != nil {
				return err
			}
			idle := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}
			if err := unix.SchedSetAttr(id, idle, 0); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("cannot set SCHED_IDLE: %w", err)
			}
		}
	}
	return nil
}

// hashing is a process that hashes passwords, and the pipes to it.
type hashing struct {
	io.Reader
	io.Writer
	cmd *exec.Cmd
}

// startHashing starts one, without secrets in its environment.
func startHashing(yields bool) (io.ReadWriteCloser, error) {
	args := []string{hashCommand}
	if !yields {
		args = append(args, atOnce)
	}
	cmd := exec.Command(child.Program(), args...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = []string{"GOMAXPROCS=1", "GOGC=50"} // one hash at a time, and its 19 MiB are not kept twice
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := child.Start(cmd, syscall.SIGKILL); err != nil {
		return nil, err
	}
	return &hashing{out, in, cmd}, nil
}

// Close ends the process.
func (h *hashing) Close() error {
	_ = h.cmd.Process.Kill() // it has nothing to lose
	go func() { _ = h.cmd.Wait() }()
	return nil
}
