package redistest

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

// SentinelName is the master that a Sentinel looks after.
const SentinelName = "sale"

// Sentinel is a master with a replica, and a sentinel that elects the replica when the master is away.
type Sentinel struct {
	Address string // of the sentinel
	Nodes   [2]*launch.Redis
	Ports   [2]string // of the nodes
}

// StartSentinel starts them for one test and returns when the sentinel knows the replica.
func StartSentinel(tb testing.TB, program string) *Sentinel {
	tb.Helper()
	first, err := launch.FreePorts(3)
	testkit.Must(tb, err)
	s := &Sentinel{Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(first+2))}
	start := func(args ...string) *launch.Redis {
		r := launch.NewRedis(testkit.Folder(tb), append([]string{"--bind", "127.0.0.1"}, args...)...)
		r.Program.Path = program
		testkit.Must(tb, r.Start(tb.Context()))
		tb.Cleanup(func() { r.Kill() })
		return r
	}
	for i := range s.Nodes {
		s.Ports[i] = strconv.Itoa(first + i)
		s.Nodes[i] = start("--port", s.Ports[i], "--repl-diskless-sync-delay", "0")
	}
	_, err = launch.AskRedis(s.Nodes[1].Socket, Timeout, "REPLICAOF", "127.0.0.1", s.Ports[0])
	testkit.Must(tb, err)

	folder := testkit.Folder(tb)
	conf := filepath.Join(folder, "sentinel.conf")
	testkit.WriteFile(tb, conf, fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nunixsocket %s/s\n"+
		"sentinel monitor %s 127.0.0.1 %s 1\nsentinel down-after-milliseconds %[4]s 500\n"+
		"sentinel failover-timeout %[4]s 3000\n", first+2, folder, folder, SentinelName, s.Ports[0]))
	plan := launch.Program{Path: program, Args: []string{conf, "--sentinel"}, Log: filepath.Join(folder, "log")}
	sentinel, err := plan.Start()
	testkit.Must(tb, err)
	tb.Cleanup(sentinel.Kill)
	testkit.Until(tb, "replica that the sentinel knows", func() bool {
		state, err := launch.AskRedis(filepath.Join(folder, "s"), Timeout, "INFO", "sentinel")
		return err == nil && strings.Contains(state, "status=ok") && strings.Contains(state, "slaves=1")
	})
	return s
}
