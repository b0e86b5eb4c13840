// Package redistest gives tests a Redis: a private redis-server on a unix socket, and the in-memory engine
// that ships as the last-resort default. Tests that share a server flush it between them.
package redistest

import (
	"context"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/mediocregopher/radix/v4"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

// Timeout is the timeout of calls that must succeed: a busy machine stalls for seconds.
const Timeout = 20 * time.Second

// Server is a private redis-server.
type Server struct {
	Socket string // its only address
	redis  *launch.Redis
}

var shared = sync.OnceValues(func() (*Server, error) {
	folder, err := launch.LastingFolder("redistest")
	if err != nil {
		return nil, err
	}
	return start(folder)
})

// Start returns the redis-server that the tests of the process share, flushed. It ends with the process.
// Without redis-server on this machine the test is skipped; with REQUIRE_REAL=1 it fails.
func Start(tb testing.TB) *Server {
	tb.Helper()
	testkit.Need(tb, "redis-server")
	s, err := shared()
	testkit.Must(tb, err)
	s.Flush(tb)
	return s
}

// New starts a redis-server for one test, which may stop, freeze and restart it. args go to its command
// line.
func New(tb testing.TB, args ...string) *Server {
	tb.Helper()
	testkit.Need(tb, "redis-server")
	s, err := start(testkit.Folder(tb), args...)
	testkit.Must(tb, err)
	tb.Cleanup(func() { s.Kill(tb) })
	return s
}

// Memory starts the in-memory engine for one test and returns its host:port.
func Memory(tb testing.TB) string {
	tb.Helper()
	return miniredis.RunT(tb).Addr()
}

// MemoryToo is Memory for a test that also runs on a real redis-server. With -short under the race detector
// the test is skipped: all its time goes into the engine's interpreter of Lua, which is not ours.
func MemoryToo(tb testing.TB) string {
	tb.Helper()
	if testkit.Race && testing.Short() {
		tb.Skip("only redis-server in short tests under the race detector")
	}
	return Memory(tb)
}

// OnEach runs a test on a real redis-server and on the in-memory engine.
func OnEach(t *testing.T, test func(t *testing.T, network, address string)) {
	t.Helper()
	t.Run("redis-server", func(t *testing.T) { test(t, "unix", Start(t).Socket) })
	t.Run("memory", func(t *testing.T) { test(t, "tcp", MemoryToo(t)) })
}

// Command runs one command on a connection of its own, on either engine. The receiver is as for radix.Cmd.
func Command(tb testing.TB, network, address string, receiver any, words ...string) {
	tb.Helper()
	c, err := radix.Dial(tb.Context(), network, address)
	testkit.Must(tb, err)
	defer c.Close()
	testkit.Must(tb, c.Do(tb.Context(), radix.Cmd(receiver, words[0], words[1:]...)))
}

func start(folder string, args ...string) (*Server, error) {
	s := &Server{redis: launch.NewRedis(folder, args...)}
	s.Socket = s.redis.Socket
	return s, s.redis.Start(context.Background())
}

// Pid is the server's process.
func (s *Server) Pid() int { return s.redis.Pid() }

// Flush removes all keys.
func (s *Server) Flush(tb testing.TB) { s.Do(tb, "FLUSHALL") }

// Do sends an inline command and returns the first line of its reply, as "+OK" or ":3".
func (s *Server) Do(tb testing.TB, command string) string {
	tb.Helper()
	reply, err := launch.InlineRedis(s.Socket, Timeout, command)
	testkit.Must(tb, err)
	return reply
}

// Freeze suspends the process, as an overloaded machine would; Thaw resumes it.
func (s *Server) Freeze(tb testing.TB) { s.redis.Send(tb, syscall.SIGSTOP) }

// Thaw resumes a frozen server.
func (s *Server) Thaw(tb testing.TB) { s.redis.Send(tb, syscall.SIGCONT) }

// Kill kills the server and returns when it has ended.
func (s *Server) Kill(testing.TB) { s.redis.Kill() }

// Restart starts a killed server again, in the same folder.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	testkit.Must(tb, s.redis.Start(context.Background()))
}

// Load makes the server answer LOADING, as while it loads its data after a start, until finish is called. It
// must have been started with --enable-debug-command yes.
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
		_, _ = launch.InlineRedis(s.Socket, Timeout, "DEBUG RELOAD") // fails when the test ends before
	}()
	testkit.Until(tb, "redis-server loads its data", func() bool {
		return strings.HasPrefix(s.Do(tb, "PING"), "-LOADING")
	})
	return func() {
		s.Do(tb, "CONFIG SET key-load-delay 0")
		<-loaded
	}
}
