package e2e

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/redisx/redistest"
)

const bannerLinesMost = 10

func TestStart(t *testing.T) {
	testkit.Need(t, "redis-server")
	t.Parallel()
	s := setup{}.launch(t)
	s.Serves(t)
	first := "flashsale serves on http://" + s.Address + " (workers: " + fmt.Sprint(runtime.NumCPU()) + ")\n"
	if !strings.HasPrefix(testkit.ReadFile(t, s.Stdout), first) {
		t.Errorf("the banner does not begin with %q", first)
	}
	if lines := strings.Count(testkit.ReadFile(t, s.Stdout), "\n"); lines > bannerLinesMost {
		t.Errorf("the banner has %d lines, at most %d", lines, bannerLinesMost)
	}
	want := "private redis-server in " + s.Data + ": what was answered survives a power cut"
	if s.Banner(t, "store") != want {
		t.Errorf("store %q, want %q", s.Banner(t, "store"), want)
	}
	if want := fmt.Sprintf("Ctrl-C or kill %d", s.Pid()); !strings.HasPrefix(s.Banner(t, "stop"), want) {
		t.Errorf("stop %q, want %q first", s.Banner(t, "stop"), want)
	}
	c := s.client(t)
	for path, want := range map[string]string{
		"/healthz": `{"status":"alive"}`,
		"/readyz":  `{"status":"ready","sale":"` + s.Sale(t) + `","users":10000,"foods":100}`,
	} {
		if r, err := c.Do("GET", path, ""); err != nil || r.Status != 200 || r.Body != want {
			t.Errorf("%s: %d %s %v, want 200 %s", path, r.Status, r.Body, err, want)
		}
	}
	checkLoginLine(t, s)
	s.End(t)
	if log := s.Warnings(t); log != "" {
		t.Errorf("a start and a stop in order log %q", log)
	}
}

// checkLoginLine logs in as the banner says, which has no password because it goes into a file.
func checkLoginLine(t *testing.T, s *server) {
	t.Helper()
	testkit.Need(t, "curl")
	line := s.Banner(t, "try")
	reply, err := exec.Command("sh", "-c", "set -e; "+strings.Replace(line, "curl", "curl -sS", 1)).Output()
	if !strings.HasPrefix(line, "curl http://"+s.Address+"/login ") || err != nil ||
		!strings.HasPrefix(string(reply), `{"user_id":1,"username":"root","access_token":"`) {
		t.Errorf("%s: %s, %v; want root", line, reply, err)
	}
	path := filepath.Join(s.Data, "root-password")
	if strings.Contains(testkit.ReadFile(t, s.Stdout), strings.TrimSpace(testkit.ReadFile(t, path))) {
		t.Error("the banner shows root's password")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("root-password: %v, %v; want mode 0600", info, err)
	}
}

// The program prints the help that internal/config keeps for people to read, and its version.
func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	version := `^flashsale \S+, commit .+, ` +
		regexp.QuoteMeta(runtime.Version()+" "+runtime.GOOS+"/"+runtime.GOARCH) + "\n$"
	help := "^" + regexp.QuoteMeta(testkit.ReadFile(t, root+"internal/config/testdata/help.txt")) + "$"
	for flag, want := range map[string]string{"-h": help, "-version": version} {
		code, out, faults := run(t, module, nil, flag)
		if code != 0 || faults != "" || !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("%s: exit code %d, errors %q, output\n%s", flag, code, faults, out)
		}
	}
}

// Secrets that were made, and secrets that were given in the environment, stay hidden.
func TestSecretsStayHidden(t *testing.T) {
	testkit.Need(t, "redis-server")
	given := map[string]string{
		"TOKEN_SECRET":          "given-token-secret-of-32-bytes-or-more",
		"TOKEN_SECRET_PREVIOUS": "given-previous-secret-of-32-bytes-or-more",
		"SERVICE_TOKEN":         "given-service-token-of-32-bytes-or-more",
		"ROOT_PASSWORD":         "given-root-password",
	}
	t.Run("made", func(t *testing.T) {
		t.Parallel()
		s := setup{}.launch(t)
		s.Serves(t)
		password := strings.TrimSpace(testkit.ReadFile(t, filepath.Join(s.Data, "root-password")))
		checkHidden(t, s, strings.TrimSpace(testkit.ReadFile(t, filepath.Join(s.Data, "token-secret"))), password)
		checkHiddenFromOthers(t, s, password)
	})
	t.Run("given", func(t *testing.T) {
		t.Parallel()
		var env, secrets []string
		for name, secret := range given {
			env, secrets = append(env, name+"="+secret), append(secrets, secret)
		}
		s := setup{env: env}.launch(t)
		s.Serves(t)
		checkHidden(t, s, append(secrets, provoke(t, s)...)...)
		// The server has started itself again without them, as the same process.
		if want := fmt.Sprintf("kill %d;", s.Pid()); !strings.Contains(s.Banner(t, "stop"), want) {
			t.Errorf("stop %q, want %q in it", s.Banner(t, "stop"), want)
		}
		checkNames(t, s)
		if err := s.client(t).Login("root", given["ROOT_PASSWORD"]); err != nil {
			t.Errorf("root's given password: %v", err)
		}
	})
	t.Run("of a Redis", func(t *testing.T) { // that of a database: see testSaleFromMariaDB
		t.Parallel()
		const password = "given-redis-password"
		redis := redistest.New(t)
		redis.Do(t, "CONFIG SET requirepass "+password)
		s := setup{env: []string{"REDIS_PASSWORD=" + password},
			args: []string{"-redis", redis.Socket, "-workers", "2"}}.serve(t)
		checkHidden(t, s, append(provoke(t, s), password)...)
	})
}

// checkNames checks that ps and pgrep show the program's name, although its processes have started it once
// more.
func checkNames(t *testing.T, s *server) {
	t.Helper()
	for _, process := range append(s.Workers(), s.Pid()) {
		if name := testkit.ReadFile(t, fmt.Sprintf("/proc/%d/comm", process)); name != "flashsale\n" {
			t.Errorf("process %d is called %q", process, name)
		}
	}
}

// provoke makes the server refuse requests with secrets in them, and returns the secrets.
func provoke(t *testing.T, s *server) []string {
	t.Helper()
	c := s.client(t)
	testkit.Must(t, c.LoginUser(2))
	secrets := []string{c.Token, "typed-password"}
	if err := c.Login("user2", "typed-password"); !client.IsRefused(err, 403, "USER_AUTH_FAIL") {
		t.Errorf("wrong password: %v", err)
	}
	twoLengths, long := "Content-Length: 1\r\nTransfer-Encoding: chunked", "X: "+strings.Repeat("a", 10_000)
	for _, headers := range []string{"X: \x00", twoLengths, long} {
		conn, err := net.Dial("tcp", s.Address)
		testkit.Must(t, err)
		defer conn.Close()
		_, err = fmt.Fprintf(conn, "POST /login?access_token=%s HTTP/1.1\r\nHost: shop\r\n%s\r\n"+
			"Access-Token: %[1]s\r\n\r\ntyped-password", secrets[0], headers)
		testkit.Must(t, err)
		if reply, _ := io.ReadAll(conn); !strings.HasPrefix(string(reply), "HTTP/1.1 4") ||
			strings.Contains(string(reply), secrets[0]) {
			t.Errorf("%.30q is answered with %q", headers, reply)
		}
	}
	return secrets
}

// checkHidden looks for secrets in what the server says, and in what other programs can see of its
// processes.
func checkHidden(t *testing.T, s *server, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if strings.Contains(testkit.ReadFile(t, s.Stdout)+testkit.ReadFile(t, s.Log), secret) {
			t.Errorf("the output shows %s", secret)
		}
	}
	checkHiddenFromOthers(t, s, secrets...)
}

// checkHiddenFromOthers looks for secrets in the arguments and the environment of supervisor, workers and
// store.
func checkHiddenFromOthers(t *testing.T, s *server, secrets ...string) {
	t.Helper()
	processes := append(append(s.Workers(), s.Stores()...), s.Pid())
	if len(processes) < 3 {
		t.Fatalf("processes %v, want workers, a store and the supervisor", processes)
	}
	for _, process := range processes {
		seen := visible(t, process)
		for _, secret := range secrets {
			if strings.Contains(seen, secret) {
				t.Errorf("arguments or environment of process %d show %s", process, secret)
			}
		}
	}
}

// Without a redis-server the sale is kept in memory, with a warning, and sells what it has.
func TestWithoutRedisServer(t *testing.T) {
	t.Parallel()
	s := setup{env: []string{"PATH="}, args: []string{"-users", "3", "-foods", "1", "-stock", "1"}}.serve(t)
	const warning = "no redis-server on PATH: the sale is kept in memory and NOTHING survives a restart; " +
		"install redis-server for a durable sale"
	if n := s.Logged(t, warning); n != 1 {
		t.Errorf("the warning is logged %d times, want once", n)
	}
	want := "in-memory engine, as there is no redis-server on PATH: NOTHING survives a restart"
	if s.Banner(t, "store") != want {
		t.Errorf("store %q, want %q", s.Banner(t, "store"), want)
	}
	_, err := s.client(t).Buy(2, item(1, 1))
	testkit.Must(t, err)
	if _, err := s.client(t).Buy(3, item(1, 1)); !client.IsRefused(err, 403, "FOOD_OUT_OF_STOCK") {
		t.Errorf("a piece more than there is: %v", err)
	}
	s.awaitStock(t, map[int]int{1: 0})
	s.End(t)
}
