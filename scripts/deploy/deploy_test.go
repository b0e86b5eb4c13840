// Package deploy holds the files with which a sale is installed; its tests give them to the programs that read them.
package deploy

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
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

// readyTimeout bounds the wait for HAProxy to listen and to have checked its servers.
const readyTimeout = 20 * time.Second

// program finds a program, or skips the test, which fails instead where REQUIRE_REAL=1 wants every real part.
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

// spoiled returns the path of a copy of the file with one text replaced.
func spoiled(t *testing.T, file, old, new string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(old)) {
		t.Fatalf("%s has no %q", file, old)
	}
	path := filepath.Join(t.TempDir(), file)
	if err := os.WriteFile(path, bytes.Replace(text, []byte(old), []byte(new), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestHAProxyAcceptsConfiguration(t *testing.T) {
	haproxy := program(t, "haproxy")
	if out, err := exec.Command(haproxy, "-c", "-f", "haproxy.cfg").CombinedOutput(); err != nil || bytes.Contains(out, []byte("WARNING")) {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := exec.Command(haproxy, "-c", "-f", spoiled(t, "haproxy.cfg", "http-reuse", "http-refuse")).CombinedOutput(); err == nil {
		t.Errorf("an unknown word passed\n%s", out)
	}
}

func TestSystemdAcceptsUnit(t *testing.T) {
	analyze := program(t, "systemd-analyze")
	const binary = "ExecStart=/usr/local/bin/flashsale" // need not be installed where this runs
	complaints := func(path string) string {
		out, err := exec.Command(analyze, "verify", path).CombinedOutput()
		var about []string // verify also looks at the units of the machine that this one names
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, "flashsale.service") {
				about = append(about, line)
			}
		}
		if err != nil && len(about) == 0 {
			t.Fatalf("cannot verify: %v\n%s", err, out)
		}
		return strings.Join(about, "")
	}
	if about := complaints(spoiled(t, "flashsale.service", binary, "ExecStart=/bin/true")); about != "" {
		t.Error(about)
	}
	// Its verdict on a wrong line is a warning and exit code 0, so the silence above has to be worth something.
	wrong := spoiled(t, "flashsale.service", "KillMode=mixed", "KillMode=fixed")
	if about := complaints(wrong); !strings.Contains(about, "kill mode") {
		t.Errorf("an unknown KillMode passed: %q", about)
	}
}

// backend is a server that counts its requests and is ready or not.
type backend struct {
	address string
	ready   atomic.Bool
	served  atomic.Int64
	opened  atomic.Int64 // connections
}

func newBackend(t *testing.T, ready bool) *backend {
	b := &backend{}
	b.ready.Store(ready)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			b.served.Add(1)
		} else if !b.ready.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			b.opened.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	b.address = strings.TrimPrefix(server.URL, "http://")
	return b
}

// startHAProxy runs HAProxy with the configuration before the backends and returns its URL.
func startHAProxy(t *testing.T, backends [3]*backend) string {
	haproxy := program(t, "haproxy")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	free.Close()
	cmd := exec.Command(haproxy, "-db", "-f", "haproxy.cfg")
	cmd.Env = append(os.Environ(), "FRONT_PORT="+port)
	for i, b := range backends {
		cmd.Env = append(cmd.Env, fmt.Sprintf("SERVER_%d=%s", i+1, b.address))
	}
	if err := child.Start(cmd, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return "http://127.0.0.1:" + port
}

// get returns the status, 0 when there is no answer.
func get(client *http.Client, url string) int {
	response, err := client.Get(url)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// await polls until the condition holds.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(readyTimeout); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", readyTimeout, what)
		}
	}
}

func TestHAProxySpreadsOverReadyServers(t *testing.T) {
	backends := [3]*backend{newBackend(t, true), newBackend(t, false), newBackend(t, true)}
	url := startHAProxy(t, backends)
	newConnections := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: readyTimeout}
	served := func() (n [3]int64) {
		for i, b := range backends {
			n[i] = b.served.Load()
		}
		return n
	}
	await(t, "HAProxy leaves out the server that is not ready", func() bool {
		before := served()
		for range 3 {
			if get(newConnections, url) != http.StatusOK {
				return false
			}
		}
		return served()[1] == before[1]
	})
	before, opened := served(), backends[0].opened.Load()+backends[2].opened.Load()
	for range 40 {
		if status := get(newConnections, url); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
	}
	after := served()
	if after[0] == before[0] || after[2] == before[2] || after[1] != before[1] {
		t.Errorf("served %v, then %v", before, after)
	}
	// The checks open connections too, two in a second; forty would be one for each request.
	if more := backends[0].opened.Load() + backends[2].opened.Load() - opened; more > 30 {
		t.Errorf("%d connections to the servers for 40 requests", more)
	}
	backends[1].ready.Store(true)
	await(t, "HAProxy takes in the server that became ready", func() bool {
		return get(newConnections, url) == http.StatusOK && backends[1].served.Load() > after[1]
	})
}
