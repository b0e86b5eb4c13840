// Package deploy holds the files with which a sale is installed and the guide that says how. Its tests
// give the files to the programs that read them and carry out the guide, block by block.
package deploy

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/child"
)

const (
	// Bounds on what hangs, not expectations.
	patience = 40 * time.Second
	poll     = 10 * time.Millisecond
)

// built is the folder of the programs under test.
var built string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	var err error
	if built, err = os.MkdirTemp("", "deploy-built"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(built)
	cmd := exec.Command("go", "build", "-o", built+"/", "../..", "../bench")
	if output, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "cannot build: %v\n%s", err, output)
		return 1
	}
	return m.Run()
}

// program finds a program, or skips the test, which fails instead where REQUIRE_REAL=1 wants every real
// part.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("REQUIRE_REAL") == "1" {
		t.Fatalf("%s is missing", name)
	} else if err != nil {
		t.Skipf("%s is missing", name)
	}
	return path
}

// process is one run of a program. It ends with the test at the latest.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
	log   string // the file that takes what it writes
}

// start runs a program with PATH and env as its whole environment.
func start(t *testing.T, env []string, name string, args ...string) *process {
	t.Helper()
	p := &process{
		cmd:   exec.Command(name, args...),
		ended: make(chan struct{}),
		log:   filepath.Join(t.TempDir(), "log"),
	}
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	log, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := child.Start(p.cmd, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // its status is in p.cmd.ProcessState
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.stop(t)
		if t.Failed() {
			t.Logf("%v\n%s", p.cmd.Args, read(t, p.log))
		}
	})
	return p
}

// stop ends the process in order. It may have ended before.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if child.Finish(p.cmd.Process, p.ended, syscall.SIGTERM, patience) {
		t.Errorf("%v did not end by itself", p.cmd.Args)
	}
}

// kill ends the process at once.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // the only error is that it has ended already
	<-p.ended
}

// await polls until the condition holds.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(poll) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

var networks atomic.Int64

// newNetwork returns the first three bytes of loopback addresses that no other test uses, as "127.7.1.":
// each of its addresses has all ports free.
func newNetwork() string {
	pid := int64(os.Getpid())
	return fmt.Sprintf("127.%d.%d.", 1+pid%250, (pid/250+networks.Add(1))%256)
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
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// changed returns the path of a copy of the file with texts replaced, given in pairs.
func changed(t *testing.T, file string, pairs ...string) string {
	t.Helper()
	text := read(t, file)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("%s has no %q", file, pairs[i])
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	path := filepath.Join(t.TempDir(), file)
	write(t, path, text)
	return path
}

// exchange sends raw bytes to an address and returns all that comes back until the connection is closed,
// or until the reply is whole when it stays open.
func exchange(t *testing.T, address, raw string) (reply string, closed bool) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte(raw)); err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	buffer := make([]byte, 4096)
	for {
		n, err := conn.Read(buffer)
		all.Write(buffer[:n])
		if err != nil { // also a reset: what came before it counts
			return all.String(), true
		}
		if whole(all.String()) && !strings.Contains(strings.ToLower(all.String()), "connection: close") {
			return all.String(), false
		}
	}
}

// whole reports whether a reply with a Content-Length has all of its body.
func whole(reply string) bool {
	head, body, found := strings.Cut(reply, "\r\n\r\n")
	length := -1
	for line := range strings.Lines(strings.ToLower(head)) {
		_, _ = fmt.Sscanf(line, "content-length: %d", &length)
	}
	return found && length >= 0 && len(body) >= length
}

// status is the number in the first line of a reply.
func status(reply string) (code int) {
	_, _ = fmt.Sscanf(reply, "HTTP/1.1 %d", &code)
	return code
}

// get returns the status, 0 when there is no answer.
func get(client *http.Client, url string) int {
	response, err := client.Get(url)
	if err != nil {
		return 0
	}
	response.Body.Close()
	return response.StatusCode
}

// run carries out a command in a folder, with env added to the environment, and returns what it writes.
func run(t *testing.T, folder string, env []string, command ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = time.Second // for what it left behind with its output open
	cmd.Dir, cmd.Env = folder, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", command, err, out)
	}
	return string(out)
}
