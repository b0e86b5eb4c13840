package launch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"flashsale/internal/testkit"
)

// These functions are for tests: they end a test instead of returning an error, and the programs that they
// start end with the test.

// Built is Build for tests.
func Built(tb testing.TB, source string) (path string) {
	tb.Helper()
	path, err := Build(context.Background(), source) // not the test's context: later tests use the program too
	testkit.Must(tb, err)
	return path
}

// ClosedPort is a port of 127.0.0.1 where no program listens.
func ClosedPort(tb testing.TB) string {
	tb.Helper()
	port, err := FreePort()
	testkit.Must(tb, err)
	return fmt.Sprint(port)
}

// Launch starts a program, with new files for Log and Stdout if Log is empty. When the test ends it stops
// the program and demands an orderly end without a data race or a panic; a failed test shows the output.
func (p Program) Launch(tb testing.TB) *Process {
	tb.Helper()
	if p.Log == "" {
		folder := tb.TempDir()
		p.Log, p.Stdout = filepath.Join(folder, "stderr"), filepath.Join(folder, "stdout")
	}
	run, err := p.Start()
	testkit.Must(tb, err)
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

// StartServer starts a server on a data folder, "" for a new one, without waiting for it. Without -app-port
// in args it takes any free port.
func StartServer(tb testing.TB, data string, env []string, args ...string) *Server {
	tb.Helper()
	if data == "" {
		data = testkit.Folder(tb)
	}
	args = append([]string{"-app-port", "0", "-data", data}, args...)
	run := Program{Path: Built(tb, ServerSource), Args: args, Env: env}.Launch(tb)
	return &Server{Process: run, Data: data}
}

// Serves returns once the server serves.
func (s *Server) Serves(tb testing.TB) {
	tb.Helper()
	testkit.Must(tb, s.AwaitBanner(context.Background()))
}

// Banner returns the text under a name in the banner.
func (s *Server) Banner(tb testing.TB, name string) string {
	tb.Helper()
	for line := range strings.Lines(testkit.ReadFile(tb, s.Stdout)) {
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
	testkit.Until(tb, "end of "+p.Path, func() bool { return !p.Running() })
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
	testkit.Must(tb, p.Signal(signal))
}

// Logged counts a text in the log.
func (p *Process) Logged(tb testing.TB, text string) int {
	tb.Helper()
	return strings.Count(testkit.ReadFile(tb, p.Log), text)
}

// lateLines are in the log of a sound server on a busy machine.
var lateLines = []string{"Redis does not answer yet; serving without it", "store is still reading its data"}

// Warnings is the log without the lines that a busy machine makes.
func (p *Process) Warnings(tb testing.TB) string {
	tb.Helper()
	var lines strings.Builder
	for line := range strings.Lines(testkit.ReadFile(tb, p.Log)) {
		if !slices.ContainsFunc(lateLines, func(late string) bool { return strings.Contains(line, late) }) {
			lines.WriteString(line)
		}
	}
	return lines.String()
}

// Written is the whole output of the process.
func (p *Process) Written(tb testing.TB) string {
	tb.Helper()
	if p.Stdout == "" {
		return testkit.ReadFile(tb, p.Log)
	}
	return testkit.ReadFile(tb, p.Stdout) + testkit.ReadFile(tb, p.Log)
}
