package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"flashsale/internal/proc"
)

// The sale of every drill: enough users that no load runs out of them, enough stock that the sale is still on at the end.
const (
	users = 200_000
	foods = 100
	stock = 5_000 // of each food

	reserved      = 12_000 // users, the first ones, whom bench leaves alone: 1 is root
	firstProbe    = 2
	firstNewcomer = 100 // see newcomers

	redisTimeout   = time.Second // -redis-timeout, its default
	patientTimeout = 5 * time.Second
	rootPassword   = "root-of-the-drills"
	tokenSecret    = "a secret that the servers of a drill share"
)

// server is one flashsale server with its workers.
type server struct {
	*service
	address  string // host:port
	profiles string // host:port of worker 0's profiles, the next worker has the next port
	data     string
}

// newServer describes a server; redis is its -redis, "" for one of its own.
func newServer(program, folder string, number int, c setup, redis string, env []string) (*server, error) {
	workers, timeout := c.workers(), redisTimeout
	if c.patient {
		timeout = patientTimeout
	}
	port, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	profiles, err := freePorts(workers)
	if err != nil {
		return nil, err
	}
	name := serverName(number)
	s := &server{
		address:  net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		profiles: net.JoinHostPort("127.0.0.1", strconv.Itoa(profiles)),
		data:     filepath.Join(folder, name),
	}
	args := []string{"-app-host", "127.0.0.1", "-app-port", strconv.Itoa(port), "-workers", strconv.Itoa(workers),
		"-users", strconv.Itoa(users), "-stock", strconv.Itoa(stock), "-redis-timeout", timeout.String(),
		"-data", s.data, "-pprof", s.profiles}
	if redis != "" {
		args = append(args, "-redis", redis)
	}
	s.service = &service{name: name, log: s.data + ".log", command: func() *exec.Cmd {
		cmd := exec.Command(program, args...)
		cmd.Env = append(saleEnv(), env...)
		return cmd
	}}
	return s, nil
}

func serverName(number int) string { return fmt.Sprintf("server-%d", number) }

// saleEnv is the environment of servers and bench: what the caller has set for a sale of its own must not change a drill.
func saleEnv() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "ROOT_PASSWORD=" + rootPassword, "TOKEN_SECRET=" + tokenSecret}
}

// freePorts finds n ports of 127.0.0.1 in a row that nobody uses at this moment.
func freePorts(n int) (int, error) {
	const triesMax = 100
	for range triesMax {
		first, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, fmt.Errorf("cannot find a free port: %w", err)
		}
		port := first.Addr().(*net.TCPAddr).Port
		free := true
		for i := 1; i < n && free; i++ {
			l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+i)))
			if free = err == nil; free {
				l.Close()
			}
		}
		first.Close()
		if free {
			return port, nil
		}
	}
	return 0, fmt.Errorf("cannot find %d free ports in a row in %d tries", n, triesMax)
}

// awaitReady returns once the server serves the sale.
func (s *server) awaitReady(ctx context.Context) error {
	client := http.Client{Timeout: time.Second}
	return await(ctx, "200 of /readyz of "+s.name, startMax, func() bool {
		response, err := client.Get("http://" + s.address + "/readyz")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
}

func (s *server) workers() []int {
	pids, _ := proc.Children(s.pid(), "flashsale") // without a process table there are none to be found
	return pids
}

// freeze stops all its processes as a stalled machine would; the result lets them go on.
func (s *server) freeze() (thaw func()) {
	pids := append([]int{s.pid()}, s.workers()...)
	send := func(sig syscall.Signal) {
		for _, pid := range pids {
			_ = syscall.Kill(pid, sig) // the only error is that it has ended
		}
	}
	send(syscall.SIGSTOP)
	return func() { send(syscall.SIGCONT) }
}
