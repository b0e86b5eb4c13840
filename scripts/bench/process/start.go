package process

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"flashsale/internal/child"
)

const (
	// StartMax is the longest wait for a server: one with ten million users reads them first.
	StartMax = time.Minute
	// Poll is the time between two looks whether a server answers.
	Poll = 5 * time.Millisecond

	stopMax      = 15 * time.Second
	logShown     = 500 // bytes of the end of the log, when a server does not start
	readyTimeout = 2 * time.Second
)

// Server is a server process that bench started for one run. It never outlives bench.
type Server struct {
	name  string
	cmd   *exec.Cmd
	log   string // path
	ended chan struct{}
}

// starter is how a server's process is started: child.Start, or child.StartBatch for what the product starts
// so.
type starter func(*exec.Cmd, syscall.Signal) error

// StartHTTP starts a server of the sale that is to be ready at the address; its output goes to a file in the
// folder.
func StartHTTP(ctx context.Context, cmd *exec.Cmd, folder, address string) (*Server, error) {
	return start(ctx, "server", cmd, child.Start, folder, func() bool { return Ready(ctx, address) })
}

// StartRedis starts a redis-server in the folder, in the way in which the product starts its own.
// appendfsync is always, everysec, or empty for no log on disk. The address is what the product's -redis
// takes: a socket in the folder or, with tcp, a port of 127.0.0.1.
func StartRedis(ctx context.Context, folder, appendfsync string,
	tcp bool) (s *Server, address string, err error) {
	network, address := "unix", filepath.Join(folder, "redis.sock")
	args := []string{"--dir", folder, "--save", "", "--daemonize", "no"}
	if tcp {
		port, err := FreePorts(1)
		if err != nil {
			return nil, "", err
		}
		network, address = "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		args = append(args, "--bind", "127.0.0.1", "--port", strconv.Itoa(port))
	} else {
		args = append(args, "--port", "0", "--unixsocket", address)
	}
	if appendfsync != "" {
		args = append(args, "--appendonly", "yes", "--appendfsync", appendfsync)
	} else {
		args = append(args, "--appendonly", "no")
	}
	cmd := exec.Command("redis-server", args...)
	s, err = start(ctx, "redis-server", cmd, child.StartBatch, folder, func() bool {
		conn, err := net.Dial(network, address)
		if err != nil {
			return false
		}
		conn.Close()
		return true
	})
	return s, address, err
}

func start(ctx context.Context, name string, cmd *exec.Cmd, start starter, folder string,
	answers func() bool) (*Server, error) {
	s := &Server{name: name, cmd: cmd, log: filepath.Join(folder, name+".log"), ended: make(chan struct{})}
	log, err := os.Create(s.log)
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
		close(s.ended)
	}()
	if err := s.await(ctx, answers); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func (s *Server) await(ctx context.Context, answers func() bool) error {
	poll := time.NewTicker(Poll)
	defer poll.Stop()
	limit := time.After(StartMax)
	for !answers() {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("cannot start %s: %w", s.name, ctx.Err())
		case <-s.ended:
			return fmt.Errorf("%s ended before it answered (%v): %s", s.name, s.cmd.ProcessState,
				s.lastWords())
		case <-limit:
			return fmt.Errorf("%s does not answer after %v: %s", s.name, StartMax, s.lastWords())
		}
	}
	return nil
}

// lastWords is the end of the log, on one line.
func (s *Server) lastWords() string {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	words := strings.Join(strings.Fields(string(text)), " ")
	return words[max(0, len(words)-logShown):]
}

// PID is the process that was started.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Stop ends the process, by force when it takes longer than stopMax.
func (s *Server) Stop() { child.Finish(s.cmd.Process, s.ended, syscall.SIGTERM, stopMax) }

// Ready asks a server whether it can serve the sale.
func Ready(ctx context.Context, address string) bool {
	client := http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true},
		Timeout: readyTimeout}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// Build builds this repository's server into the folder and returns its path.
func Build(ctx context.Context, folder string) (string, error) {
	path := filepath.Join(folder, "flashsale")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "flashsale")
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build the product (run bench within its repository): %w: %s", err,
			bytes.TrimSpace(output))
	}
	return path, nil
}

// FreePorts finds n ports in a row of 127.0.0.1 that are free at this moment and returns the first.
func FreePorts(n int) (int, error) {
	const tries = 100
	for range tries {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, fmt.Errorf("cannot find a free port: %w", err)
		}
		first, free := listener.Addr().(*net.TCPAddr).Port, 1
		for ; free < n; free++ {
			next, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(first+free)))
			if err != nil {
				break
			}
			next.Close()
		}
		listener.Close()
		if free == n {
			return first, nil
		}
	}
	return 0, fmt.Errorf("cannot find %d free ports in a row", n)
}
