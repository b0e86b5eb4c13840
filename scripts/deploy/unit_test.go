package deploy

import (
	"fmt"
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

const (
	unitFile  = "flashsale.service"
	unitStart = "ExecStart=flashsale" // need not be installed where this runs
	anyStart  = "ExecStart=/bin/true"
)

// uncommented is the unit with all settings that it offers in comments.
func uncommented(t *testing.T) string {
	t.Helper()
	pairs := []string{unitStart, anyStart}
	setting := regexp.MustCompile(`(?m)^#[A-Z]\w+=.*$`)
	for _, line := range setting.FindAllString(testkit.ReadFile(t, unitFile), -1) {
		pairs = append(pairs, line+"\n", line[1:]+"\n")
	}
	return changed(t, unitFile, pairs...)
}

func TestSystemdAcceptsUnit(t *testing.T) {
	analyze := testkit.Need(t, "systemd-analyze")
	complaints := func(path string) string {
		out, err := exec.Command(analyze, "verify", "--man=no", path).CombinedOutput()
		var about []string // verify also looks at the units of the machine that this one names
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, unitFile) {
				about = append(about, line)
			}
		}
		if err != nil && len(about) == 0 {
			t.Fatalf("cannot verify: %v\n%s", err, out)
		}
		return strings.Join(about, "")
	}
	for _, path := range []string{changed(t, unitFile, unitStart, anyStart), uncommented(t)} {
		if about := complaints(path); about != "" {
			t.Error(about)
		}
	}
	// Its verdict on a wrong line is a warning and exit code 0, so the silence above has to be worth something.
	wrong := changed(t, unitFile, unitStart, anyStart, "KillMode=mixed", "KillMode=fixed")
	if about := complaints(wrong); !strings.Contains(about, "kill mode") {
		t.Errorf("an unknown KillMode passed: %q", about)
	}
}

// The exposure that systemd-analyze finds, from 0 (none) to 10.
func TestSystemdFindsUnitSecure(t *testing.T) {
	analyze := testkit.Need(t, "systemd-analyze")
	for path, most := range map[string]float64{unitFile: 1.6, uncommented(t): 1.8} {
		out, err := exec.Command(analyze, "security", "--offline=true", path).CombinedOutput()
		var level float64
		_, line, found := strings.Cut(string(out), "Overall exposure level for ")
		if _, scanning := fmt.Sscanf(line, unitFile+": %f", &level); err != nil || !found || scanning != nil {
			t.Fatalf("%v %v\n%s", err, scanning, out)
		}
		if level > most {
			t.Errorf("exposure %v, want at most %v", level, most)
		}
	}
}

func TestUnitSettings(t *testing.T) {
	for _, text := range []string{testkit.ReadFile(t, unitFile), testkit.ReadFile(t, uncommented(t))} {
		files := settings(text, "EnvironmentFile")
		if len(files) != 1 || files[0] != "/etc/flashsale/flashsale.conf" {
			t.Errorf("environment files %q: it must be required, without a leading -", files)
		}
	}
	all := testkit.ReadFile(t, uncommented(t))
	for name, want := range map[string]string{
		"LoadCredential": "tls.crt:/etc/flashsale/tls.crt tls.key:/etc/flashsale/tls.key " +
			"users.csv:/etc/flashsale/users.csv foods.csv:/etc/flashsale/foods.csv",
		"Environment":           "TLS_CERT=%d/tls.crt TLS_KEY=%d/tls.key CATALOG_DIR=%d",
		"AmbientCapabilities":   "CAP_NET_BIND_SERVICE",
		"CapabilityBoundingSet": " CAP_NET_BIND_SERVICE", // without it there too the service would not get it
	} {
		if got := strings.Join(settings(all, name), " "); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// settings are the values that a unit gives to a name, in order.
func settings(unit, name string) (values []string) {
	for line := range strings.Lines(unit) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), name+"="); found {
			values = append(values, value)
		}
	}
	return values
}

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
