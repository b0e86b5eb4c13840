package e2e

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

// statusOf runs flashsale status and returns what it writes.
func statusOf(t *testing.T, args ...string) (written string, code int) {
	t.Helper()
	run := launch.Program{Path: launch.Built(t, launch.ServerSource),
		Args: append([]string{"status"}, args...)}.Launch(t)
	code = run.ExitCode(t)
	return run.Written(t), code
}

// flashsale status reads a real server: one that serves, one without Redis, and an address without a server.
func TestStatus(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	ops := net.JoinHostPort("127.0.0.1", launch.ClosedPort(t))
	server := launch.StartServer(t, testkit.Folder(t), nil, "-ops", ops, "-foods", "3", "-stock", "7")
	server.Serves(t)
	text, code := "", 0
	testkit.Until(t, "Redis", func() bool {
		text, code = statusOf(t, "-ops", ops)
		return code == 0
	})
	for _, want := range []string{"sale        " + server.Sale(t) + ", open\n",
		"stock       21 of 21 pieces left, 0 foods sold out", "refusals    none\n", "\n" + ops} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nhas no %q", text, want)
		}
	}

	store := server.Stores()
	testkit.Must(t, syscall.Kill(store[0], syscall.SIGSTOP))
	text, code = statusOf(t, "-ops", ops)
	testkit.Must(t, syscall.Kill(store[0], syscall.SIGCONT))
	if code != 1 || !strings.Contains(text, "stock       unknown while Redis is away\n") {
		t.Errorf("while Redis is frozen: exit code %d\n%s", code, text)
	}

	nobody := net.JoinHostPort("127.0.0.1", launch.ClosedPort(t))
	text, code = statusOf(t, "-ops", nobody)
	if code != 2 || !strings.HasPrefix(text, "ServerAway: "+nobody+": ") {
		t.Errorf("without a server: exit code %d\n%s", code, text)
	}
	text, code = statusOf(t, "-ops", nobody+","+ops)
	if code != 1 || !strings.Contains(text, "\nServerAway: "+nobody+": ") {
		t.Errorf("with one of two: exit code %d\n%s", code, text)
	}
	if text, code = statusOf(t, "-gone"); code != 2 || !strings.HasPrefix(text, "flashsale status: ") {
		t.Errorf("with a wrong flag: exit code %d\n%s", code, text)
	}
}

// -watch goes on until it is stopped; elsewhere than on a terminal it writes one block after the other.
func TestStatusWatches(t *testing.T) {
	t.Parallel()
	ops := net.JoinHostPort("127.0.0.1", launch.ClosedPort(t))
	run := launch.Program{Path: launch.Built(t, launch.ServerSource),
		Args: []string{"status", "-ops", ops, "-watch", "200ms"}}.Launch(t)
	written := func(text string) int { return strings.Count(run.Written(t), text) }
	testkit.Until(t, "block without a server", func() bool { return written("\nServerAway: ") > 0 })

	server := launch.StartServer(t, testkit.Folder(t), nil, "-ops", ops)
	server.Serves(t)
	testkit.Until(t, "three blocks of the server", func() bool { return written("\nsale        ") >= 3 })
	run.Send(t, os.Interrupt)
	if code := run.ExitCode(t); code != 0 && code != 1 { // a busy Redis may be late
		t.Errorf("exit code %d", code)
	}
	text := run.Written(t)
	first, rest, _ := strings.Cut(text, "\n")
	if _, err := time.Parse(time.DateTime, first); err != nil || strings.Contains(text, "\x1b") ||
		!strings.Contains(rest, "\n\n"+first[:4]) {
		t.Errorf("blocks with the time, apart, without codes of a terminal:\n%s", text)
	}
}

// A reading that the user cuts off tells nothing of the server.
func TestStatusIsCutOff(t *testing.T) {
	t.Parallel()
	readings := atomic.Int64{}
	ops := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if readings.Add(1) > 1 {
			<-r.Context().Done()
		}
		fmt.Fprintln(w, "flashsale_start_time_seconds 1")
	}))
	t.Cleanup(ops.Close)
	run := launch.Program{Path: launch.Built(t, launch.ServerSource),
		Args: []string{"status", "-ops", ops.Listener.Addr().String(), "-watch", "200ms"}}.Launch(t)
	testkit.Until(t, "second reading", func() bool { return readings.Load() == 2 })
	run.Send(t, os.Interrupt)
	if code := run.ExitCode(t); code == 2 {
		t.Errorf("exit code 2: a server that was reached counts as away\n%s", run.Written(t))
	}
}
