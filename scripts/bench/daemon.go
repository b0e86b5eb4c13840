package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"flashsale/internal/child"
)

const (
	daemonStartMax = time.Minute // a server with ten million users reads them first
	daemonStopMax  = 15 * time.Second
	daemonPoll     = 5 * time.Millisecond
	daemonLogShown = 500 // bytes of the end of the log, when it does not start
)

// daemon is a server process that bench started for one run. It never outlives bench.
type daemon struct {
	name  string
	cmd   *exec.Cmd
	log   string // path
	ended chan struct{}
}

// starter is how a daemon's process is started: child.Start, or child.StartBatch for what the server starts so.
type starter func(*exec.Cmd, syscall.Signal) error

// startDaemon starts cmd, which is to answer answers; its output goes to a file in the folder.
func startDaemon(ctx context.Context, name string, cmd *exec.Cmd, start starter, folder string, answers func() bool) (*daemon, error) {
	d := &daemon{name: name, cmd: cmd, log: filepath.Join(folder, name+".log"), ended: make(chan struct{})}
	log, err := os.Create(d.log)
	if err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", name, err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := start(cmd, syscall.SIGKILL); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", name, err)
	}
	go func() {
		_ = cmd.Wait() // its status is in cmd.ProcessState
		close(d.ended)
	}()
	if err := d.await(ctx, answers); err != nil {
		d.stop()
		return nil, err
	}
	return d, nil
}

func (d *daemon) await(ctx context.Context, answers func() bool) error {
	poll := time.NewTicker(daemonPoll)
	defer poll.Stop()
	limit := time.After(daemonStartMax)
	for !answers() {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("cannot start %s: %w", d.name, ctx.Err())
		case <-d.ended:
			return fmt.Errorf("%s ended before it answered (%v): %s", d.name, d.cmd.ProcessState, d.lastWords())
		case <-limit:
			return fmt.Errorf("%s does not answer after %v: %s", d.name, daemonStartMax, d.lastWords())
		}
	}
	return nil
}

// lastWords is the end of the log, on one line.
func (d *daemon) lastWords() string {
	text, err := os.ReadFile(d.log)
	if err != nil {
		return err.Error()
	}
	words := strings.Join(strings.Fields(string(text)), " ")
	return words[max(0, len(words)-daemonLogShown):]
}

func (d *daemon) pid() int { return d.cmd.Process.Pid }

// stop ends the process, by force when it takes longer than daemonStopMax.
func (d *daemon) stop() { child.Finish(d.cmd.Process, d.ended, syscall.SIGTERM, daemonStopMax) }

// freePort finds a port of 127.0.0.1 that nobody uses at this moment.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("cannot find a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
