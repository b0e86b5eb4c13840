package e2e

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/child"
	"flashsale/redisx/redistest"
)

const (
	// Bounds on what hangs, not expectations: with -race on a busy machine a start takes seconds.
	patience = 40 * time.Second
	poll     = 5 * time.Millisecond

	rootPassword = "root-of-the-tests"
	sharedSecret = "a secret that servers of one sale share"
)

// root is the top of the repository, seen from this package.
const root = "../../"

// built is the folder of the programs under test.
var built string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	var err error
	if built, err = os.MkdirTemp("", "flashsale-built"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(built)
	if err := build("flashsale", module); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// build builds a package of this module as the program called name, under the race detector if the tests are.
func build(name, source string) error {
	cmd := exec.Command("go", "build", "-race="+strconv.FormatBool(redistest.Race), "-o", filepath.Join(built, name), source)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := child.Start(cmd, syscall.SIGKILL)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return fmt.Errorf("cannot build %s: %w\n%s", source, err, output.Bytes())
	}
	return nil
}

// program is one run of a built program. It ends with the test at the latest.
type program struct {
	cmd            *exec.Cmd
	ended          chan struct{}
	stdout, stderr string // names of the files that take what it writes
}

// launch starts a program with PATH and env as its whole environment.
func launch(t *testing.T, name string, env []string, args ...string) *program {
	t.Helper()
	dir := t.TempDir()
	p := &program{
		cmd:    exec.Command(filepath.Join(built, name), args...),
		ended:  make(chan struct{}),
		stdout: filepath.Join(dir, "stdout"),
		stderr: filepath.Join(dir, "stderr"),
	}
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	// Files, not pipes: the program's children hold them too, and their end is not to be waited for.
	stdout, err := os.Create(p.stdout)
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	stderr, err := os.Create(p.stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	p.cmd.Stdout, p.cmd.Stderr = stdout, stderr
	if err := child.Start(p.cmd, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // its status is in p.cmd.ProcessState
		close(p.ended)
	}()
	t.Cleanup(func() { p.finish(t) })
	return p
}

func (p *program) finish(t *testing.T) {
	if child.Finish(p.cmd.Process, p.ended, syscall.SIGTERM, patience) {
		t.Errorf("%v did not end by itself", p.cmd.Args)
	}
	log := read(t, p.stderr)
	if strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic:") {
		t.Error("a data race or a panic in the program")
	}
	if t.Failed() {
		t.Logf("%v\n%s%s", p.cmd.Args, read(t, p.stdout), log)
	}
}

// wait returns the exit code; -1 after a signal.
func (p *program) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatalf("%v does not end", p.cmd.Args)
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *program) pid() int { return p.cmd.Process.Pid }

// logged counts the lines of the program's log that contain text.
func (p *program) logged(t *testing.T, text string) int {
	t.Helper()
	return strings.Count(read(t, p.stderr), text)
}

func (p *program) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// setup says how to start a server.
type setup struct {
	data      string // its folder; "" for a new one
	env, args []string
}

// launch starts the server without waiting for it, on any free port.
func (c setup) launch(t *testing.T) *server {
	t.Helper()
	if c.data == "" {
		c.data = folder(t)
	}
	args := append([]string{"-app-port", "0", "-data", c.data}, c.args...)
	return &server{program: launch(t, "flashsale", c.env, args...), data: c.data}
}

// serve starts the server, root's password being rootPassword, and returns once it serves.
func (c setup) serve(t *testing.T) *server {
	t.Helper()
	c.env = append([]string{"ROOT_PASSWORD=" + rootPassword}, c.env...)
	s := c.launch(t)
	s.awaitBanner(t)
	return s
}

// server is a running server.
type server struct {
	*program
	data    string
	address string      // host:port
	trust   *tls.Config // what its clients trust; nil for plain HTTP
}

// awaitBanner returns once the server has said that it serves, with all lines.
func (s *server) awaitBanner(t *testing.T) {
	t.Helper()
	within(t, "banner", func() bool {
		select {
		case <-s.ended:
			t.Fatalf("the server ended at its start: %s", read(t, s.stderr))
		default:
		}
		text := read(t, s.stdout)
		return strings.Contains(text, "\n  stop ") && strings.HasSuffix(text, "\n")
	})
	_, url, found := strings.Cut(read(t, s.stdout), "://")
	if _, err := fmt.Sscan(url, &s.address); !found || err != nil {
		t.Fatalf("no URL in the first line of the banner: %v", err)
	}
}

// banner returns what the banner says under a name.
func (s *server) banner(t *testing.T, name string) string {
	t.Helper()
	for line := range strings.Lines(read(t, s.stdout)) {
		if value, found := strings.CutPrefix(line, "  "+name+" "); found {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("the banner says nothing of %s", name)
	return ""
}

// sale is the id of the sale.
func (s *server) sale(t *testing.T) string {
	t.Helper()
	id, _, _ := strings.Cut(s.banner(t, "sale"), ",")
	return id
}

// stop ends the server and fails the test unless it ends in order.
func (s *server) stop(t *testing.T) {
	t.Helper()
	s.signal(t, syscall.SIGTERM)
	if code := s.wait(t); code != 0 {
		t.Errorf("exit code %d after SIGTERM, want 0", code)
	}
}

func (s *server) workers(t *testing.T) []int     { return children(t, s.pid(), "flashsale") }
func (s *server) redisServer(t *testing.T) []int { return children(t, s.pid(), "redis-server") }

// folder makes a folder of a short name: the path of a unix socket in it is limited.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sale")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// needRedis skips a test of the default store where there is no redis-server, or fails it if REQUIRE_REAL=1 is set.
func needRedis(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("REQUIRE_REAL") == "1" {
			t.Fatal("REQUIRE_REAL=1, but there is no redis-server on PATH: install it")
		}
		t.Skip("no redis-server on PATH: install it to run this test")
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// within polls until the condition holds.
func within(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for limit := time.Now().Add(patience); !condition(); <-tick.C {
		if time.Now().After(limit) {
			t.Fatalf("no %s within %v", what, patience)
		}
	}
}
