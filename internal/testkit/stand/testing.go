package stand

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"flashsale/internal/testkit/polltest"
)

// What follows is the face for tests: it ends a test where the rest of the package returns an error, and
// what it starts ends with the test.

// Need finds a program on PATH. Without it the test is skipped; with REQUIRE_REAL=1 it fails.
func Need(tb testing.TB, program string) (path string) {
	tb.Helper()
	path, err := exec.LookPath(program)
	if err != nil && os.Getenv("REQUIRE_REAL") == "1" {
		tb.Fatalf("REQUIRE_REAL=1, but there is no %s on PATH: install it", program)
	} else if err != nil {
		tb.Skipf("no %s on PATH: install it to run this test", program)
	}
	return path
}

// Built is Build for tests.
func Built(tb testing.TB, source string) (path string) {
	tb.Helper()
	path, err := Build(context.Background(), source) // for later tests too, so this one's end must not end it
	Must(tb, err)
	return path
}

// Folder makes a folder of a short name: the path of a unix socket in it is limited.
func Folder(tb testing.TB) string {
	tb.Helper()
	folder, err := os.MkdirTemp("", "sale")
	Must(tb, err)
	tb.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}

// ClosedPort is a port of 127.0.0.1 where no program listens.
func ClosedPort(tb testing.TB) string {
	tb.Helper()
	port, err := FreePort()
	Must(tb, err)
	return fmt.Sprint(port)
}

// Launch starts a program. Without Log and Stdout in it each gets a new file. When the test ends it has
// ended in order, without a data race or a panic; a test that failed shows what it wrote.
func (p Program) Launch(tb testing.TB) *Process {
	tb.Helper()
	if p.Log == "" {
		folder := tb.TempDir()
		p.Log, p.Stdout = filepath.Join(folder, "stderr"), filepath.Join(folder, "stdout")
	}
	run, err := p.Start()
	Must(tb, err)
	tb.Cleanup(func() { run.finish(tb) })
	return run
}

func (p *Process) finish(tb testing.TB) {
	if p.Stop() {
		tb.Errorf("%s %q did not end by itself", p.Path, p.Args)
	}
	written := p.Written(tb)
	if strings.Contains(written, "DATA RACE") || strings.Contains(written, "panic:") {
		tb.Errorf("a data race or a panic in %s", p.Path)
	}
	if tb.Failed() {
		tb.Logf("%s %q\n%s", p.Path, p.Args, written)
	}
}

// LaunchServer starts a server on a data folder, "" for a new one, without waiting for it. Without -app-port
// in args it takes any free port.
func LaunchServer(tb testing.TB, data string, env []string, args ...string) *Server {
	tb.Helper()
	if data == "" {
		data = Folder(tb)
	}
	args = append([]string{"-app-port", "0", "-data", data}, args...)
	run := Program{Path: Built(tb, ServerSource), Args: args, Env: env}.Launch(tb)
	return &Server{Process: run, Data: data}
}

// Serves returns once the server serves.
func (s *Server) Serves(tb testing.TB) {
	tb.Helper()
	Must(tb, s.AwaitBanner(context.Background()))
}

// Banner returns what the banner says under a name.
func (s *Server) Banner(tb testing.TB, name string) string {
	tb.Helper()
	for line := range strings.Lines(ReadFile(tb, s.Stdout)) {
		if value, found := strings.CutPrefix(line, "  "+name+" "); found {
			return strings.TrimSpace(value)
		}
	}
	tb.Fatalf("the banner says nothing of %s", name)
	return ""
}

// Sale is the id of the sale that the server serves.
func (s *Server) Sale(tb testing.TB) string {
	tb.Helper()
	id, _, _ := strings.Cut(s.Banner(tb, "sale"), ",")
	return id
}

// ExitCode waits for the end and returns the exit code; -1 after a signal.
func (p *Process) ExitCode(tb testing.TB) int {
	tb.Helper()
	polltest.Until(tb, "end of "+p.Path, func() bool { return !p.Running() })
	return p.State().ExitCode()
}

// End ends the process with SIGTERM, which must make it exit with 0.
func (p *Process) End(tb testing.TB) {
	tb.Helper()
	p.Send(tb, syscall.SIGTERM)
	if code := p.ExitCode(tb); code != 0 {
		tb.Errorf("exit code %d after SIGTERM, want 0", code)
	}
}

// Send is Signal for tests.
func (p *Process) Send(tb testing.TB, signal os.Signal) {
	tb.Helper()
	Must(tb, p.Signal(signal))
}

// Logged counts how often a text is in the log.
func (p *Process) Logged(tb testing.TB, text string) int {
	tb.Helper()
	return strings.Count(ReadFile(tb, p.Log), text)
}

// slowRedis is logged by a worker of a server on a busy machine, in which nothing is wrong.
const slowRedis = "Redis does not answer yet; serving without it"

// Warnings is the log without the lines of a server that waits for a slow Redis.
func (p *Process) Warnings(tb testing.TB) string {
	tb.Helper()
	var lines strings.Builder
	for line := range strings.Lines(ReadFile(tb, p.Log)) {
		if !strings.Contains(line, slowRedis) {
			lines.WriteString(line)
		}
	}
	return lines.String()
}

// Written is all that the process has written.
func (p *Process) Written(tb testing.TB) string {
	tb.Helper()
	if p.Stdout == "" {
		return ReadFile(tb, p.Log)
	}
	return ReadFile(tb, p.Stdout) + ReadFile(tb, p.Log)
}

// ReadFile returns the text of a file.
func ReadFile(tb testing.TB, path string) string {
	tb.Helper()
	text, err := os.ReadFile(path)
	Must(tb, err)
	return string(text)
}

// WriteFile writes a text into a file, and makes the folder for it.
func WriteFile(tb testing.TB, path, text string) {
	tb.Helper()
	Must(tb, os.MkdirAll(filepath.Dir(path), 0o755))
	Must(tb, os.WriteFile(path, []byte(text), 0o600))
}

// Must ends the test on an error.
func Must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
