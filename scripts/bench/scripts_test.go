package main

import (
	"bytes"
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"flashsale/internal/catalog"
	"flashsale/internal/config"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
)

// requireTool wants a program on PATH: with REQUIRE_REAL=1 its absence fails, else it skips.
func requireTool(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err == nil {
		return
	}
	if os.Getenv("REQUIRE_REAL") == "1" {
		t.Fatalf("REQUIRE_REAL=1, but there is no %s on PATH: install it", name)
	}
	t.Skipf("no %s on PATH", name)
}

// found returns the first group of a pattern in a text.
func found(t *testing.T, pattern, text string) string {
	t.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if match == nil {
		t.Fatalf("no %s in\n%s", pattern, text)
	}
	return match[1]
}

// wrk runs a script of scripts/wrk for a second and returns what it printed.
func wrk(t *testing.T, server, script string, args ...string) string {
	t.Helper()
	words := append([]string{"-t2", "-c16", "-d1s", "-s", filepath.Join("..", "wrk", script), "http://" +
		server, "--"}, args...)
	output, _ := exec.Command("wrk", words...).CombinedOutput() // a refusal is an exit code too
	return string(output)
}

// wrkUntil runs a script again until its output matches a pattern: a second is short on a busy machine.
func wrkUntil(t *testing.T, pattern, server, script string, args ...string) {
	t.Helper()
	output, want := "", regexp.MustCompile(pattern)
	if err := testkit.Await(t.Context(), pattern, testkit.Patience, func() bool {
		output = wrk(t, server, script, args...)
		return want.MatchString(output)
	}); err != nil {
		t.Errorf("%s %q: %v in\n%s", script, args, err, output)
	}
}

// The audit of README's section on wrk finds the server of that section sound after its load, and the
// scripts name the ids that are wrong.
func TestWrkAndAuditOfREADME(t *testing.T) {
	requireTool(t, "redis-server")
	requireTool(t, "wrk")
	requireTool(t, "curl")
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	section := found(t, `(?s)## wrk and vegeta\n(.*)`, string(readme))
	var sale catalog.Config
	flags := flag.NewFlagSet("README", flag.ContinueOnError)
	config.AddCatalog(flags, &sale)
	if err := flags.Parse(strings.Fields(found(t, "server \\(`([^`]+)`", section))); err != nil {
		t.Fatal(err)
	}
	sale.RootPassword = "secret"
	server := served(t, "product", sale)[0]

	users := strings.Fields(found(t, `flow\.lua http://127\.0\.0\.1:8080 -- (\d+ \d+)`, section))
	wrkUntil(t, `Orders placed: [1-9]`, server, "flow.lua", users...)
	const refused = "wrk: the server refuses the login of ids 100001 to 100500; give first and last up to " +
		"100000 behind --\n"
	for _, run := range []struct{ script, args, want string }{
		{"flow.lua", users[0] + " " + users[0],
			"Users who got no order now, most of whom had one before: " + users[0] + "\n"},
		{"flow.lua", "99000 100500", refused},
		{"login.lua", "99000 100500", refused},
		{"login.lua", "100001 100500", "wrk: the server refuses the login of id 100001, the first of " +
			"100001 to 100500 (name user100001, password pass100001)\n"},
		{"login.lua", "9 8", "wrk: first-user and last-user must be ids from 2 on, in this order\n"},
		{"foods.lua", "nobody x", "wrk: the server refuses the login of nobody\n"},
	} {
		wrkUntil(t, regexp.QuoteMeta(run.want), server, run.script, strings.Fields(run.args)...)
	}
	for _, script := range []string{"login.lua", "foods.lua"} { // no line on replies that are not 2xx
		wrkUntil(t, `(?m)requests in .*$\n(  Socket errors: .*$\n)?Requests/sec: +[1-9]`, server, script)
	}

	const off = "wrk: the server has no /repeats; start it with -repeats\n"
	if output := wrk(t, server, "repeats.lua"); output != off {
		t.Errorf("repeats.lua, with the room off:\n%s", output)
	}

	var stdout, stderr bytes.Buffer
	args := append(strings.Fields(found(t, "go run ./scripts/bench (audit[^`]*)`", section)),
		"-addr", server, "-root-password", "secret")
	code := exitCode(run(args, &stdout, &stderr), &stderr)
	if code != 0 || strings.Contains(stdout.String(), "listed once (0 looked at") {
		t.Errorf("%q: exit %d: %s%s", args, code, stderr.String(), stdout.String())
	}
}

// portOfThree finds a port that is free on each address of scripts/three.sh.
func portOfThree(t *testing.T) string {
	t.Helper()
	for range 100 {
		port, err := launch.FreePorts(1)
		if err != nil {
			t.Fatal(err)
		}
		second, err2 := net.Listen("tcp", net.JoinHostPort("127.0.0.2", strconv.Itoa(port)))
		third, err3 := net.Listen("tcp", net.JoinHostPort("127.0.0.3", strconv.Itoa(port)))
		if err2 == nil {
			second.Close()
		}
		if err3 == nil {
			third.Close()
		}
		if err2 == nil && err3 == nil {
			return strconv.Itoa(port)
		}
	}
	t.Fatal("no port is free on 127.0.0.1, .2 and .3")
	return ""
}

func TestThreeServersKept(t *testing.T) {
	requireTool(t, "redis-server")
	port := portOfThree(t)
	three := exec.Command("../three.sh", "-keep", "-orders", "200", "-concurrency", "10")
	three.Env = append(os.Environ(), "PORT="+port, "TMPDIR="+t.TempDir())
	var stdout, stderr bytes.Buffer
	three.Stdout, three.Stderr = &stdout, &stderr
	err := three.Run()
	said := stderr.String()
	stop := strings.TrimSpace(found(t, `three\.sh: stop: +(.+)`, said))
	stopped := false
	t.Cleanup(func() {
		if !stopped {
			_ = exec.Command(stop).Run()
		}
	})
	if err != nil {
		t.Fatalf("%v\n%s%s", err, said, stdout.String())
	}
	servers := []string{"127.0.0.1:" + port, "127.0.0.2:" + port, "127.0.0.3:" + port}
	last := 0
	for _, want := range []string{"building", "redis-server is ready",
		"server 1 of 3 is ready on " + servers[0], "server 2 of 3 is ready on " + servers[1],
		"server 3 of 3 is ready on " + servers[2], "load and audit", "left running"} {
		at := strings.Index(said, "three.sh: "+want)
		if at < last {
			t.Errorf("%q is missing or in the wrong place:\n%s", want, said)
		}
		last = at
	}
	for _, server := range servers {
		if !(&client.Client{Address: server, Timeout: testkit.Patience, NewConnections: true}).Ready() {
			t.Errorf("%s is not left running", server)
		}
	}
	var audit bytes.Buffer
	args := strings.Fields(found(t, `audit again: go run \./scripts/bench (.+)`, said))
	err = run(args, &audit, &audit)
	if err != nil || !strings.Contains(audit.String(), "listed once (200 looked at, 0 violations)") {
		t.Errorf("%q: %v\n%s", args, err, audit.String())
	}
	output, err := exec.Command(stop).CombinedOutput()
	stopped = err == nil
	if err != nil || len(output) > 0 {
		t.Fatalf("%s: %v %s", stop, err, output)
	}
	for _, server := range servers {
		if conn, err := net.Dial("tcp", server); err == nil {
			conn.Close()
			t.Errorf("%s runs after the stop", server)
		}
	}
	if _, err := os.Stat(filepath.Dir(stop)); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}
