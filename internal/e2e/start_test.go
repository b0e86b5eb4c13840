package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"flashsale/redisx/redistest"
)

const bannerLinesMost = 10

func TestStart(t *testing.T) {
	needRedis(t)
	for _, test := range []struct {
		name, workers string
		args          []string
	}{
		{"workers", fmt.Sprint(runtime.NumCPU()), nil},
		{"one", "1", []string{"-workers", "1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := setup{args: test.args}.launch(t)
			s.awaitBanner(t)
			if first := "flashsale serves on http://" + s.address + " (workers: " + test.workers + ")\n"; !strings.HasPrefix(read(t, s.stdout), first) {
				t.Errorf("the banner does not begin with %q", first)
			}
			if lines := strings.Count(read(t, s.stdout), "\n"); lines > bannerLinesMost {
				t.Errorf("the banner has %d lines, at most %d", lines, bannerLinesMost)
			}
			if want := "private redis-server in " + s.data + ": what was answered survives a power cut"; s.banner(t, "store") != want {
				t.Errorf("store %q, want %q", s.banner(t, "store"), want)
			}
			if want := fmt.Sprintf("Ctrl-C or kill %d", s.pid()); !strings.HasPrefix(s.banner(t, "stop"), want) {
				t.Errorf("stop %q, want %q first", s.banner(t, "stop"), want)
			}
			c := s.client(t)
			for path, want := range map[string]string{
				"/healthz": `{"status":"alive"}`,
				"/readyz":  `{"status":"ready","sale":"` + s.sale(t) + `","users":10000,"foods":100}`,
			} {
				if r, err := c.do("GET", path, ""); err != nil || r.status != 200 || r.body != want {
					t.Errorf("%s: %d %s %v, want 200 %s", path, r.status, r.body, err, want)
				}
			}
			checkLoginLine(t, s)
			s.stop(t)
			if log := read(t, s.stderr); log != "" {
				t.Errorf("a start and a stop in order log %q", log)
			}
		})
	}
}

// On every address of the machine the banner names those that one can open, 127.0.0.1 first.
func TestBannerOnEveryAddress(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	args := []string{"-redis", redis.Socket, "-app-host", "0.0.0.0", "-users", "2", "-workers", "1"}
	s := setup{args: args}.serve(t)
	if !strings.HasPrefix(s.address, "127.0.0.1:") {
		t.Errorf("the banner begins with %s, want 127.0.0.1", s.address)
	}
	banner := read(t, s.stdout)
	if strings.Contains(banner, "://0.0.0.0") || strings.Contains(banner, "://[::]") {
		t.Errorf("the banner has an address that nobody can open: %s", banner)
	}
	_, others, _ := strings.Cut(banner, "  also on ")
	others, _, _ = strings.Cut(others, "\n  sale ")
	for _, url := range append(strings.Fields(others), "http://"+s.address) {
		c := client{address: strings.TrimPrefix(url, "http://")}
		if r, err := c.do("GET", "/healthz", ""); err != nil || r.status != 200 {
			t.Errorf("%s: %v, %v", url, r, err)
		}
		c.hangUp()
	}
}

// checkLoginLine logs in as the banner says.
func checkLoginLine(t *testing.T, s *server) {
	t.Helper()
	body, found := strings.CutPrefix(s.banner(t, "try"), "curl http://"+s.address+"/login -d '")
	body, ended := strings.CutSuffix(body, "'")
	if !found || !ended {
		t.Fatalf("no login to try in %q", s.banner(t, "try"))
	}
	var session struct {
		ID   int    `json:"user_id"`
		Name string `json:"username"`
	}
	if err := s.client(t).ask("POST", "/login", body, &session); err != nil || session.ID != 1 || session.Name != "root" {
		t.Errorf("login %s: %+v, %v; want root", body, session, err)
	}
	var shown struct{ Password string }
	must(t, json.Unmarshal([]byte(body), &shown))
	path := filepath.Join(s.data, "root-password")
	if kept := read(t, path); kept != shown.Password+"\n" {
		t.Errorf("root-password holds %q, the banner shows %q", kept, shown.Password)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("root-password: %v, %v; want mode 0600", info, err)
	}
}

// The program prints the help that internal/config keeps for people to read.
func TestHelp(t *testing.T) {
	t.Parallel()
	p := launch(t, "flashsale", nil, "-h")
	if code := p.wait(t); code != 0 || read(t, p.stderr) != "" {
		t.Errorf("exit code %d, errors %q; want 0 and none", code, read(t, p.stderr))
	}
	if want := read(t, root+"internal/config/testdata/help.txt"); read(t, p.stdout) != want {
		t.Errorf("the help is\n%s", read(t, p.stdout))
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	p := launch(t, "flashsale", nil, "-version")
	if code := p.wait(t); code != 0 || read(t, p.stderr) != "" {
		t.Errorf("exit code %d, errors %q; want 0 and none", code, read(t, p.stderr))
	}
	want := regexp.MustCompile(`^flashsale \S+, commit .+, ` +
		regexp.QuoteMeta(runtime.Version()+" "+runtime.GOOS+"/"+runtime.GOARCH) + "\n$")
	if got := read(t, p.stdout); !want.MatchString(got) {
		t.Errorf("%q does not match %s", got, want)
	}
}

// Secrets that were made, and secrets that were given in the environment, are seen by nobody.
func TestSecretsStayHidden(t *testing.T) {
	needRedis(t)
	given := map[string]string{
		"TOKEN_SECRET":          "given-token-secret-of-32-bytes-or-more",
		"TOKEN_SECRET_PREVIOUS": "given-previous-secret-of-32-bytes-or-more",
		"ROOT_PASSWORD":         "given-root-password",
	}
	t.Run("made", func(t *testing.T) {
		t.Parallel()
		s := setup{}.launch(t)
		s.awaitBanner(t)
		password := strings.TrimSpace(read(t, filepath.Join(s.data, "root-password")))
		if shown := strings.Count(read(t, s.stdout)+read(t, s.stderr), password); shown != 1 {
			t.Errorf("root's random password is shown %d times, want once, in the login to try", shown)
		}
		checkHidden(t, s, strings.TrimSpace(read(t, filepath.Join(s.data, "token-secret"))))
		checkHiddenFromOthers(t, s, password)
	})
	t.Run("given", func(t *testing.T) {
		t.Parallel()
		var env, secrets []string
		for name, secret := range given {
			env, secrets = append(env, name+"="+secret), append(secrets, secret)
		}
		s := setup{env: env}.launch(t)
		s.awaitBanner(t)
		checkHidden(t, s, append(secrets, provoke(t, s)...)...)
		// The server has started itself again without them, as the same process.
		if want := fmt.Sprintf("kill %d;", s.pid()); !strings.Contains(s.banner(t, "stop"), want) {
			t.Errorf("stop %q, want %q in it", s.banner(t, "stop"), want)
		}
		checkNames(t, s)
		if err := s.client(t).login("root", given["ROOT_PASSWORD"]); err != nil {
			t.Errorf("root's given password: %v", err)
		}
	})
	t.Run("of a Redis", func(t *testing.T) { // that of a database: see TestSaleFromMariaDB
		t.Parallel()
		const password = "given-redis-password"
		redis := redistest.New(t)
		redis.Do(t, "CONFIG SET requirepass "+password)
		s := setup{env: []string{"REDIS_PASSWORD=" + password}, args: []string{"-redis", redis.Socket, "-workers", "2"}}.serve(t)
		checkHidden(t, s, append(provoke(t, s), password)...)
	})
}

// checkNames checks that ps and pgrep show the program's name, although its processes have started it once more.
func checkNames(t *testing.T, s *server) {
	t.Helper()
	for _, process := range append(s.workers(t), s.pid()) {
		if name := read(t, fmt.Sprintf("/proc/%d/comm", process)); name != "flashsale\n" {
			t.Errorf("process %d is called %q", process, name)
		}
	}
}

// With -log-format json every line of every process is an object; those of a worker name it.
func TestLogInJSON(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	s := setup{args: []string{"-redis", redis.Socket, "-users", "2", "-workers", "1", "-log-format", "json"}}.serve(t)
	worker := s.workers(t)[0]
	redis.Kill(t)
	within(t, "line of a worker", func() bool { return s.logged(t, fmt.Sprintf(`"pid":%d,`, worker)) > 0 })
	kill(t, worker)
	within(t, "line of the supervisor", func() bool { return s.logged(t, `"msg":"worker is ready again"`) == 1 })
	for line := range strings.Lines(read(t, s.stderr)) {
		var entry struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Time == "" || entry.Level == "" || entry.Msg == "" {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// provoke makes the server refuse requests with secrets in them, and returns the secrets.
func provoke(t *testing.T, s *server) []string {
	t.Helper()
	c := s.client(t)
	must(t, c.loginUser(2))
	secrets := []string{c.token, "typed-password"}
	if err := c.login("user2", "typed-password"); !isRefused(err, 403, "USER_AUTH_FAIL") {
		t.Errorf("wrong password: %v", err)
	}
	for _, headers := range []string{"X: \x00", "Content-Length: 1\r\nTransfer-Encoding: chunked", "X: " + strings.Repeat("a", 10_000)} {
		conn, err := net.Dial("tcp", s.address)
		must(t, err)
		defer conn.Close()
		_, err = fmt.Fprintf(conn, "POST /login?access_token=%s HTTP/1.1\r\nHost: shop\r\n%s\r\nAccess-Token: %[1]s\r\n\r\ntyped-password", secrets[0], headers)
		must(t, err)
		if reply, _ := io.ReadAll(conn); !strings.HasPrefix(string(reply), "HTTP/1.1 4") || strings.Contains(string(reply), secrets[0]) {
			t.Errorf("%.30q is answered with %q", headers, reply)
		}
	}
	return secrets
}

// checkHidden looks for secrets in what the server says, and in what other programs can see of its processes.
func checkHidden(t *testing.T, s *server, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if strings.Contains(read(t, s.stdout)+read(t, s.stderr), secret) {
			t.Errorf("the output shows %s", secret)
		}
	}
	checkHiddenFromOthers(t, s, secrets...)
}

// checkHiddenFromOthers looks for secrets in the arguments and the environment of supervisor, workers and
// store.
func checkHiddenFromOthers(t *testing.T, s *server, secrets ...string) {
	t.Helper()
	processes := append(append(s.workers(t), s.redisServer(t)...), s.pid())
	if len(processes) < 3 {
		t.Fatalf("processes %v, want workers, a store and the supervisor", processes)
	}
	for _, process := range processes {
		for _, file := range []string{"cmdline", "environ"} {
			visible := read(t, fmt.Sprintf("/proc/%d/%s", process, file))
			for _, secret := range secrets {
				if strings.Contains(visible, secret) {
					t.Errorf("%s of process %d shows %s", file, process, secret)
				}
			}
		}
	}
}

// Without a redis-server the sale is kept in memory, says so, and sells nothing twice.
func TestWithoutRedisServer(t *testing.T) {
	t.Parallel()
	const users, stock = 40, 15
	s := setup{
		env:  []string{"PATH="},
		args: []string{"-users", fmt.Sprint(users + 1), "-foods", "1", "-stock", fmt.Sprint(stock)},
	}.serve(t)
	const warning = "no redis-server on PATH: the sale is kept in memory and NOTHING survives a restart; install redis-server for a durable sale"
	if n := s.logged(t, warning); n != 1 {
		t.Errorf("the warning is logged %d times, want once", n)
	}
	if want := "in-memory engine, as there is no redis-server on PATH: NOTHING survives a restart"; s.banner(t, "store") != want {
		t.Errorf("store %q, want %q", s.banner(t, "store"), want)
	}
	outcomes := tally{}
	var buyers sync.WaitGroup
	for user := 2; user < 2+users; user++ {
		buyers.Go(func() {
			c := &client{address: s.address}
			defer c.hangUp()
			_, err := c.buy(user, item{1, 1})
			outcomes.add(err)
		})
	}
	buyers.Wait()
	outcomes.check(t, map[string]int{"placed": stock, "403 FOOD_OUT_OF_STOCK": users - stock})
	if orders := s.orders(t); len(orders) != stock {
		t.Errorf("%d orders, want %d", len(orders), stock)
	}
	s.awaitStock(t, map[int]int{1: 0})
	s.stop(t)
}
