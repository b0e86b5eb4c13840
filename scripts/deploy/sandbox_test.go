package deploy

import (
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
)

var (
	calledName   = regexp.MustCompile(`(?m)^\d+ +([a-z0-9_]+)\(`)
	calledFamily = regexp.MustCompile(`\bsocket(?:pair)?\((AF_\w+)`)
	// A mapping that can be written and executed is what MemoryDenyWriteExecute refuses.
	calledWritable = regexp.MustCompile(`(?m)^.*PROT_WRITE\|PROT_EXEC.*$`)
)

// The unit's sandbox allows what the server, its workers and its private redis-server ask the kernel for.
// strace writes that down; systemd need not run for it.
func TestUnitAllowsCalls(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector asks for more; the test without it counts")
	}
	trace := tracedOrder(t)
	unit := testkit.ReadFile(t, unitFile)
	allowed := callsOf(t, settings(unit, "SystemCallFilter")...)
	called := map[string]bool{}
	for _, found := range calledName.FindAllStringSubmatch(trace, -1) {
		called[found[1]] = true
	}
	if len(called) < 50 || len(allowed) < 200 {
		t.Errorf("only %d calls are seen and %d allowed", len(called), len(allowed))
	}
	for name := range called {
		if !allowed[name] {
			t.Errorf("the unit does not allow %s", name)
		}
	}
	families := strings.Fields(settings(unit, "RestrictAddressFamilies")[0])
	// The banner does without the machine's own addresses, for which the server asks by AF_NETLINK.
	families = append(families, "AF_NETLINK")
	for _, found := range calledFamily.FindAllStringSubmatch(trace, -1) {
		if !slices.Contains(families, found[1]) {
			t.Errorf("the unit does not allow sockets of %s", found[1])
		}
	}
	if line := calledWritable.FindString(trace); line != "" {
		t.Errorf("MemoryDenyWriteExecute refuses %s", line)
	}
}

// tracedOrder has a server with a redis-server of its own serve an order and stop, and returns all calls of
// both to the kernel.
func tracedOrder(t *testing.T) (trace string) {
	t.Helper()
	testkit.Need(t, "redis-server")
	path, data := filepath.Join(t.TempDir(), "trace"), testkit.Folder(t)
	port := launch.ClosedPort(t)
	// -D: the server is this process's child, and strace is not.
	args := []string{"-D", "-f", "-o", path, launch.Built(t, launch.ServerSource),
		"-data", data, "-app-port", port, "-workers", "1"}
	run := launch.Program{Path: testkit.Need(t, "strace"), Args: args}.Launch(t)
	address := net.JoinHostPort("127.0.0.1", port)
	testkit.Must(t, launch.AwaitReady(t.Context(), address))
	b := newBuyer(t, address)
	if _, err := b.Buy(2, client.Pieces(1, 2)); err != nil {
		t.Fatal(err)
	}
	b.HangUp()
	run.End(t)
	testkit.Until(t, "strace has written all", func() bool {
		trace = testkit.ReadFile(t, path)
		return strings.HasSuffix(trace, "+++\n") && strings.Contains(trace, "/redis-server")
	})
	return trace
}

// callsOf are the calls to the kernel in sets of systemd's, such as @system-service.
func callsOf(t *testing.T, sets ...string) map[string]bool {
	t.Helper()
	calls := map[string]bool{}
	for len(sets) > 0 {
		set := sets[0]
		sets = sets[1:]
		out, err := exec.Command(testkit.Need(t, "systemd-analyze"), "syscall-filter", set).Output()
		testkit.Must(t, err)
		for line := range strings.Lines(string(out)) {
			switch word := strings.TrimSpace(line); {
			case !strings.HasPrefix(line, " ") || strings.HasPrefix(word, "#"):
			case strings.HasPrefix(word, "@"):
				sets = append(sets, word)
			default:
				calls[word] = true
			}
		}
	}
	return calls
}
