package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"flashsale/internal/proc"
	"flashsale/internal/serve/listener/certtest"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

// The sale of every drill: enough users for the longest load, enough stock that the sale is still on at the
// end.
const (
	users        = 200_000
	foods        = 100
	stockDefault = 5_000 // of each food

	reserved      = 1_000 // users, the first ones, that bench leaves alone: 1 is root
	firstProbe    = 2
	lister        = 99  // reads the list of foods for the drill
	firstNewcomer = 100 // see newcomers

	redisTimeout   = 3 * time.Second  // the default of -redis-timeout
	patientTimeout = 15 * time.Second // -redis-timeout of a patient server
	rootPassword   = "root-of-the-drills"
	tokenSecret    = "a secret that the servers of a drill share"
)

// saleEnv is the environment of servers and bench: settings of the caller must not change a drill.
var saleEnv = []string{"ROOT_PASSWORD=" + rootPassword, "TOKEN_SECRET=" + tokenSecret}

// server is one flashsale server with its workers.
type server struct {
	service
	address  string // host:port
	profiles int    // port of worker 0's profiles, the next worker has the next port
	data     string
	chain    string      // file of its certificate; "" for plain text
	trust    *tls.Config // of its clients; nil for plain text
}

// newServer describes a server; redis is its -redis, "" for its own redis-server. Prometheus looks at ops.
func newServer(
	program, folder string, number int, c setup, redis, ops string, env []string,
) (*server, error) {
	workers := c.workers()
	port, err := launch.FreePort()
	if err != nil {
		return nil, err
	}
	profiles, err := launch.FreePorts(workers)
	if err != nil {
		return nil, err
	}
	s := &server{
		address:  localhost(port),
		profiles: profiles,
		data:     filepath.Join(folder, serverName(number)),
	}
	args := []string{"-app-host", "127.0.0.1", "-app-port", strconv.Itoa(port), "-workers",
		strconv.Itoa(workers),
		"-users", strconv.Itoa(users), "-stock", strconv.Itoa(c.stock), "-data", s.data,
		"-pprof", localhost(profiles), "-ops", ops,
		"-cart-adds", "0"} // one-cart changes a cart as fast as it can
	chat, err := chatFlags(c)
	if err != nil {
		return nil, err
	}
	args = append(args, chat...)
	if c.patient {
		args = append(args, "-redis-timeout", patientTimeout.String())
	}
	if c.tls {
		certificate, err := certtest.Make(folder, time.Now().Add(30*24*time.Hour)) // no alert about it
		if err != nil {
			return nil, fmt.Errorf("cannot make a certificate: %w", err)
		}
		s.chain, s.trust = certificate.ChainFile, certtest.Trust(certificate)
		args = append(args, "-tls-cert", certificate.ChainFile, "-tls-key", certificate.KeyFile)
	}
	if c.ack != "" {
		args = append(args, "-ack", c.ack)
	}
	if c.masters > 0 {
		args = append(args, "-redis-cluster", redis)
	} else if redis != "" {
		args = append(args, "-redis", redis)
	}
	s.program = launch.Program{Path: program, Args: args, Env: append(env, saleEnv...),
		Log: s.data + ".log"}
	return s, nil
}

func serverName(number int) string { return fmt.Sprintf("server-%d", number) }

// awaitReady returns once the server serves the sale.
func (s *server) awaitReady(ctx context.Context) error {
	return testkit.Await(ctx, "200 of /readyz of "+s.address, startMax, s.shopper(lister).Ready)
}

func (s *server) workers() []int {
	pids, _ := proc.Children(s.pid(), "flashsale") // without a process table no worker is found
	return pids
}

// freeze stops all processes of the server as a stalled machine would; the result lets them go on.
func (s *server) freeze() (thaw func()) {
	run := s.process()
	_ = run.SignalTree(syscall.SIGSTOP) // the probes notice a failure
	return func() { _ = run.SignalTree(syscall.SIGCONT) }
}

// restartDelay is the default of systemd's RestartSec; scripts/deploy has a second, for a shorter log while
// Redis is away.
const restartDelay = 100 * time.Millisecond

// service is a program that starts again when it ends by itself, as under systemd, but not when the drill
// ended it.
type service struct {
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
