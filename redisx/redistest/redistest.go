// Package redistest gives tests a Redis of their own: a private redis-server on a unix socket, and the
// in-memory engine that ships as the last-resort default. Tests that share a server flush it between them.
package redistest

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"flashsale/internal/child"
)

// startLimit is how long a redis-server may take until it answers.
const startLimit = 20 * time.Second

// Server is a private redis-server.
type Server struct {
	Socket string // its only address
	args   []string
	cmd    *exec.Cmd
	ended  chan struct{}
}

var shared struct {
	once   sync.Once
	server *Server
	life   io.Closer // open as long as this process lives
	err    error
}

// Start returns the redis-server that the tests of the process share, flushed. It ends with the process.
// Without redis-server on this machine the test is skipped; with REQUIRE_REAL=1 it fails.
func Start(tb testing.TB) *Server {
	tb.Helper()
	require(tb)
	shared.once.Do(func() {
		dir, err := os.MkdirTemp("", "redistest")
		if err == nil {
			shared.life, err = removeAtExit(dir)
		}
		if err != nil {
			shared.err = err
			return
		}
		shared.server, shared.err = start(dir)
	})
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	shared.server.Flush(tb)
	return shared.server
}

// removeAtExit starts a shell that removes the folder when this process has ended, in whatever way: no test
// knows that it is the last. The shell waits for the end of its standard input, and only this process holds the
// other end, life.
func removeAtExit(dir string) (life io.Closer, err error) {
	cmd := exec.Command("sh", "-c", `read -r line; rm -rf -- "$0"`, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // not to be ended by Ctrl-C
	if life, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return life, cmd.Start()
}

// New starts a redis-server for one test, which may stop, freeze and restart it. args are added to its
// command line.
func New(tb testing.TB, args ...string) *Server {
	tb.Helper()
	require(tb)
	dir, err := os.MkdirTemp("", "redistest")
	if err != nil {
		tb.Fatal(err)
	}
	s, err := start(dir, args...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		s.Kill(tb)
		os.RemoveAll(dir)
	})
	return s
}

// Memory starts the in-memory engine for one test and returns its host:port.
func Memory(tb testing.TB) string {
	tb.Helper()
	return miniredis.RunT(tb).Addr()
}

func require(tb testing.TB) {
	tb.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("REQUIRE_REAL") == "1" {
			tb.Fatal("REQUIRE_REAL=1, but there is no redis-server on PATH: install it")
		}
		tb.Skip("no redis-server on PATH: this runs on the in-memory engine only")
	}
}

func start(dir string, args ...string) (*Server, error) {
	s := &Server{Socket: filepath.Join(dir, "s")}
	s.args = append([]string{"--port", "0", "--unixsocket", s.Socket, "--dir", dir,
		"--save", "", "--appendonly", "no"}, args...)
	return s, s.run()
}

func (s *Server) run() error {
	s.cmd = exec.Command("redis-server", s.args...)
	if err := child.Start(s.cmd, syscall.SIGKILL); err != nil {
		return err
	}
	s.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		cmd.Wait()
		close(ended)
	}(s.cmd, s.ended)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(startLimit)
	for {
		if reply, err := s.ask("PING"); err == nil && reply == "+PONG" {
			return nil
		}
		select {
		case <-tick.C:
		case <-s.ended:
			return fmt.Errorf("redis-server %q has ended: %v", s.args, s.cmd.ProcessState)
		case <-limit:
			return fmt.Errorf("redis-server %q does not answer after %v", s.args, startLimit)
		}
	}
}

// Pid is the server's process.
func (s *Server) Pid() int { return s.cmd.Process.Pid }

// Flush removes all keys.
func (s *Server) Flush(tb testing.TB) { s.Do(tb, "FLUSHALL") }

// Do sends an inline command and returns the first line of its reply.
func (s *Server) Do(tb testing.TB, command string) string {
	tb.Helper()
	reply, err := s.ask(command)
	if err != nil {
		tb.Fatal(err)
	}
	return reply
}

// Freeze stops the process without ending it, as an overloaded machine would; Thaw lets it go on.
func (s *Server) Freeze(tb testing.TB) { s.signal(tb, syscall.SIGSTOP) }

// Thaw lets a frozen server go on.
func (s *Server) Thaw(tb testing.TB) { s.signal(tb, syscall.SIGCONT) }

// Kill ends the server at once and waits until it has ended.
func (s *Server) Kill(testing.TB) {
	s.cmd.Process.Kill() // the only error is that it has ended already
	<-s.ended
}

// Restart starts a killed server again, in the same folder.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	if err := s.run(); err != nil {
		tb.Fatal(err)
	}
}

// Load makes the server answer LOADING, as it does while it reads its data after a start, until finish is
// called. It must have been started with --enable-debug-command yes.
func (s *Server) Load(tb testing.TB) (finish func()) {
	tb.Helper()
	for _, command := range []string{"DEBUG POPULATE 20000 key 100",
		"CONFIG SET loading-process-events-interval-bytes 1024", "CONFIG SET key-load-delay 1000"} {
		if reply := s.Do(tb, command); reply != "+OK" {
			tb.Fatalf("%s: %s", command, reply)
		}
	}
	loaded := make(chan struct{})
	go func() {
		defer close(loaded)
		s.ask("DEBUG RELOAD") // without a reply when the test ends before
	}()
	limit := time.Now().Add(startLimit)
	for !strings.HasPrefix(s.Do(tb, "PING"), "-LOADING") {
		if time.Now().After(limit) {
			tb.Fatal("redis-server does not load its data")
		}
		runtime.Gosched()
	}
	return func() {
		s.Do(tb, "CONFIG SET key-load-delay 0")
		<-loaded
	}
}

func (s *Server) signal(tb testing.TB, sig syscall.Signal) {
	tb.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		tb.Fatal(err)
	}
}

func (s *Server) ask(command string) (string, error) {
	c, err := net.Dial("unix", s.Socket)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(startLimit)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(c, "%s\r\n", command); err != nil {
		return "", err
	}
	var line []byte
	for one := make([]byte, 1); ; {
		if _, err := c.Read(one); err != nil {
			return "", err
		}
		if one[0] == '\r' {
			return string(line), nil
		}
		line = append(line, one[0])
	}
}
