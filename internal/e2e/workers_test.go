package e2e

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
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

// A worker that is killed takes only its own connections with it: each of those fails once, the others
// never.
func TestKilledWorkerIsReplaced(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	s := setup{args: append([]string{"-workers", "2"}, loadArgs...)}.serve(t)
	l := startLoad(t, s, loadClients, false)
	before := s.Workers()
	if len(before) != 2 {
		t.Fatalf("workers %v, want two", before)
	}
	kill(t, before[0])
	l.awaitOrders(t, 50)
	testkit.Until(t, "new worker", func() bool { return s.Logged(t, "worker is ready again") == 1 })
	l.awaitOrders(t, 50)
	after := s.Workers()
	if len(after) != 2 || slices.Contains(after, before[0]) || !slices.Contains(after, before[1]) {
		t.Errorf("workers %v, want %d and a new one in place of %d", after, before[1], before[0])
	}
	if n := s.Logged(t, "worker ended and is started again"); n != 1 {
		t.Errorf("the end of the worker is logged %d times, want once", n)
	}
	l.audit(t, s)
	if len(l.failed) == 0 || len(l.failed) == loadClients {
		t.Errorf("%d of %d clients lost their connection, want those of one worker", len(l.failed), loadClients)
	}
	for number, errs := range l.failed {
		if len(errs) != 1 {
			t.Errorf("client %d failed more than once: %v", number, errs)
		}
	}
}

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
			const drain = 30 * time.Second
			s := setup{args: append(args, "-redis", redis.Socket, "-users", "2",
				"-drain", drain.String(), "-redis-timeout", "1m")}.serve(t)
			if name == "TLS" {
				s.trust = certtest.Trust(certificate)
			}
			idle := s.client(t)
			testkit.Must(t, idle.LoginUser(2))
			c, path := inFlight(t, s, redis)
			begin := time.Now()
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
			if took := time.Since(begin); took > drain {
				t.Errorf("the stop took %v, longer than -drain %v", took, drain)
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

// A supervisor that is killed takes all its processes with it, and the sale goes on where it was.
func TestKilledSupervisorIsRestarted(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	s := setup{args: append([]string{"-workers", "2"}, loadArgs...)}.serve(t)
	l := startLoad(t, s, loadClients, false)
	buyer := s.client(t)
	const user = loadUsers // far from those of the load
	id, err := buyer.Buy(user, basket(user)...)
	testkit.Must(t, err)
	workers, stores := s.Workers(), s.Stores()
	if len(workers) != 2 || len(stores) != 1 {
		t.Fatalf("workers %v, redis-server %v; want two and one", workers, stores)
	}
	kill(t, s.Pid())
	s.ExitCode(t)
	l.stop()
	awaitEnd(t, append(workers, stores...)...)

	again := setup{data: s.Data, args: append([]string{"-workers", "2"}, loadArgs...)}.serve(t)
	if want := s.Sale(t) + ", goes on"; again.Banner(t, "sale") != want {
		t.Errorf("sale %q, want %q", again.Banner(t, "sale"), want)
	}
	old := again.client(t)
	old.Token = buyer.Token
	var orders []client.Order
	if err := old.Call("GET", "/orders", "", &orders); err != nil || len(orders) != 1 || orders[0].ID != id {
		t.Errorf("orders by the old token: %+v, %v; want %s", orders, err, id)
	}
	if _, err := again.client(t).Buy(user, basket(user)...); !client.IsRefused(err, 403, "ORDER_OUT_OF_LIMIT") {
		t.Errorf("second order after the restart: %v, want 403 ORDER_OUT_OF_LIMIT", err)
	}
	l.audit(t, again)
}
