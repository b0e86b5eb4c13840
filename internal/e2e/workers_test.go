package e2e

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/serve/listener/certtest"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/redisx/redistest"
)

const loadClients = 12

// loadCatalogue writes the users and foods of a load as CSV and returns the two texts too.
func loadCatalogue(t *testing.T) (dir, users, foods string) {
	t.Helper()
	var u, f strings.Builder
	u.WriteString("1,root,r\n")
	for user := 2; user <= loadUsers; user++ {
		fmt.Fprintf(&u, "%d,user%[1]d,pass%[1]d\n", user)
	}
	for food := 1; food <= loadFoods; food++ {
		fmt.Fprintf(&f, "%d,%d,5\n", food, loadStock)
	}
	return catalogue(t, u.String(), f.String()), u.String(), f.String()
}

// checkNewcomer logs in on some connections, which the kernel spreads over the workers.
func checkNewcomer(t *testing.T, s *server, want string) {
	t.Helper()
	for range 10 {
		c := s.client(t)
		c.NewConnections = true
		outcome := "200"
		if err := c.Login("newcomer", "hello"); err != nil {
			outcome = err.Error()
		}
		if outcome != want {
			t.Errorf("login of a newcomer: %s, want %s", outcome, want)
		}
	}
}

// No request fails while the workers are replaced, and the new ones know the users that have come; a
// catalogue that is broken, or not that of the sale, leaves the old one in place.
func TestHangupReplacesWorkers(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	dir, users, foods := loadCatalogue(t)
	usersFile, foodsFile := filepath.Join(dir, "users.csv"), filepath.Join(dir, "foods.csv")
	s := setup{args: []string{"-workers", "2", "-catalog-dir", dir,
		"-limits", "off"}}.serve(t)
	l := startLoad(t, s, loadClients, true)
	rolls := 0
	roll := func() {
		t.Helper()
		before := s.Workers()
		s.Send(t, syscall.SIGHUP)
		rolls++
		testkit.Until(t, "end of the replacement", func() bool {
			return s.Logged(t, "all workers are replaced") == rolls
		})
		l.awaitOrders(t, 50)
		awaitEnd(t, before...)
		checkNewcomer(t, s, "200")
	}

	checkNewcomer(t, s, "403 USER_AUTH_FAIL")
	users += "30000,newcomer,hello\n"
	testkit.WriteFile(t, usersFile, "id,name,password\n"+users)
	roll()
	testkit.WriteFile(t, usersFile, "id,name,password\n"+users+"30001,newcomer,again\n")
	roll()
	testkit.WriteFile(t, usersFile, "id,name,password\n1,root,r\n")
	testkit.WriteFile(t, foodsFile, "id,stock,price\n"+foods+fmt.Sprintf("%d,1,1\n", loadFoods+1))
	roll()

	twice := fmt.Sprintf(`name \"newcomer\" is also at %s:%d; give each user a name of its own`,
		usersFile, loadUsers+2)
	other := fmt.Sprintf("its foods, stocks or prices are not those of the sale: %s: the sale has no food %d",
		foodsFile, loadFoods+1)
	for _, reason := range []string{twice, other} {
		if n := s.Logged(t, reason); n != 1 {
			t.Errorf("the log says %d times, not once, that %s", n, reason)
		}
	}
	l.checkFailures(t)
	l.audit(t, s)
}

// inFlight freezes Redis and changes a cart, at this path, which can be answered only once Redis goes on.
func inFlight(t *testing.T, s *server, redis *redistest.Server) (c *client.Client, path string) {
	t.Helper()
	c = s.client(t)
	testkit.Must(t, c.LoginUser(2))
	cart, err := c.NewCart()
	testkit.Must(t, err)
	redis.Freeze(t)
	path = client.CartPath(cart)
	testkit.Must(t, c.Send("PATCH", path, `{"food_id":1,"count":1}`))
	return c, path
}

// awaitClosed waits until the address refuses connections.
func awaitClosed(t *testing.T, address string) {
	t.Helper()
	testkit.Until(t, "refusal of connections", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return errors.Is(err, syscall.ECONNREFUSED)
	})
}

func TestTerminationAnswersWhatIsInFlight(t *testing.T) {
	certificate := certtest.Write(t, testkit.Folder(t), time.Now().Add(time.Hour))
	for name, args := range map[string][]string{
		"workers": {"-workers", "2"},
		"TLS":     {"-workers", "2", "-tls-cert", certificate.ChainFile, "-tls-key", certificate.KeyFile},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := redistest.New(t)
			s := setup{args: append(args, "-redis", redis.Socket, "-users", "2", "-drain", "1h",
				"-redis-timeout", "1m")}.serve(t)
			if name == "TLS" {
				s.trust = certtest.Trust(certificate)
			}
			idle := s.client(t)
			testkit.Must(t, idle.LoginUser(2))
			c, path := inFlight(t, s, redis)
			s.Send(t, syscall.SIGTERM)
			awaitClosed(t, s.Address)
			if err := idle.AwaitEnd(); err != nil {
				t.Errorf("an idle connection: %v", err)
			}
			redis.Thaw(t)
			if r, err := c.Receive("PATCH", path); err != nil || r.Status != 204 || !r.Close {
				t.Errorf("the request in flight: %d, close %v, %v; want 204 and close", r.Status, r.Close, err)
			}
			if code := s.ExitCode(t); code != 0 {
				t.Errorf("exit code %d, want 0", code)
			}
			if log := s.Warnings(t); log != "" {
				t.Errorf("a stop in order logs %q", log)
			}
		})
	}
}

func TestSecondSignalKills(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	s := setup{args: []string{"-redis", redis.Socket, "-users", "2", "-workers", "2", "-drain", "1h",
		"-redis-timeout", "1m"}}.serve(t)
	workers := s.Workers()
	inFlight(t, s, redis)
	s.Send(t, syscall.SIGTERM)
	awaitClosed(t, s.Address)
	// The default is restored with the first signal, but not in the same moment: until then others are
	// swallowed.
	testkit.Until(t, "end by a second signal", func() bool {
		_ = s.Signal(syscall.SIGTERM)
		return !s.Running()
	})
	if status := s.State().Sys().(syscall.WaitStatus); !status.Signaled() ||
		status.Signal() != syscall.SIGTERM {
		t.Errorf("the server ended with %v, want by SIGTERM", s.State())
	}
	awaitEnd(t, workers...)
}

func awaitReady(t *testing.T, c *client.Client, status int) {
	t.Helper()
	testkit.Until(t, fmt.Sprintf("%d from /readyz", status), func() bool {
		r, err := c.Do("GET", "/readyz", "")
		testkit.Must(t, err)
		return r.Status == status
	})
}

// A worker that is started again while Redis is away answers 503 and does not let its clients wait.
func TestWorkerStartsWithoutRedis(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	s := setup{args: []string{"-redis", redis.Socket, "-workers", "1", "-users", "10",
		"-redis-timeout", "3s"}}.serve(t)
	c := s.client(t)
	awaitReady(t, c, 200) // a worker on a busy machine may begin without Redis
	redis.Freeze(t)
	kill(t, s.Workers()[0])
	c.HangUp()
	testkit.Until(t, "an answer of the new worker", func() bool {
		r, err := c.Do("GET", "/healthz", "")
		return err == nil && r.Status == 200
	})
	awaitReady(t, c, 503)
	redis.Thaw(t)
	awaitReady(t, c, 200)
	if _, err := s.client(t).Buy(4, item(1, 1)); err != nil {
		t.Errorf("order after Redis came back: %v", err)
	}
}
