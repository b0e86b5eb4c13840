package redistest

import (
	"os"
	"os/exec"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

// Cluster starts a Redis Cluster for one test; see launch.StartCluster.
func Cluster(tb testing.TB, program string, masters, replicas int, args ...string) *launch.Cluster {
	tb.Helper()
	c, err := launch.StartCluster(tb.Context(), testkit.Folder(tb), program, masters, replicas, args...)
	tb.Cleanup(c.Kill)
	testkit.Must(tb, err)
	return c
}

// OnPrograms runs a test with redis-server, which tests need, and with valkey-server, which the environment
// variable VALKEY may name.
func OnPrograms(t *testing.T, test func(t *testing.T, program string)) {
	t.Helper()
	t.Run("redis", func(t *testing.T) { test(t, testkit.Need(t, "redis-server")) })
	t.Run("valkey", func(t *testing.T) {
		if testing.Short() {
			t.Skip("only redis-server in short tests")
		}
		program := os.Getenv("VALKEY")
		if program == "" {
			program = "valkey-server"
		}
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("no valkey-server on PATH or at VALKEY")
		}
		test(t, program)
	})
}
