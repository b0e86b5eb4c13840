package e2e

import (
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/handlers/certtest"
	"flashsale/redisx/redistest"
)

const loadClients = 12

// A worker that is killed takes only its own connections with it: each of those fails once, the others never.
func TestKilledWorkerIsReplaced(t *testing.T) {
	t.Parallel()
	needRedis(t)
	s := setup{args: append([]string{"-workers", "2"}, loadArgs...)}.serve(t)
	l := startLoad(t, s, loadClients, false)
	before := s.workers(t)
	if len(before) != 2 {
		t.Fatalf("workers %v, want two", before)
	}
	kill(t, before[0])
	l.awaitOrders(t, 50)
	within(t, "new worker", func() bool { return s.logged(t, "worker is ready again") == 1 })
	l.awaitOrders(t, 50)
	after := s.workers(t)
	if len(after) != 2 || slices.Contains(after, before[0]) || !slices.Contains(after, before[1]) {
		t.Errorf("workers %v, want %d and a new one in place of %d", after, before[1], before[0])
	}
	if n := s.logged(t, "worker ended and is started again"); n != 1 {
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
		c := &client{address: s.address, newConnections: true}
		outcome := "200"
		if err := c.login("newcomer", "hello"); err != nil {
			outcome = err.Error()
		}
		if outcome != want {
			t.Errorf("login of a newcomer: %s, want %s", outcome, want)
		}
	}
}

// No request fails while the workers are replaced, and the new ones know the users that have come; a catalogue that is
// broken, or not that of the sale, leaves the old one in place.
func TestHangupReplacesWorkers(t *testing.T) {
	t.Parallel()
	needRedis(t)
	dir, users, foods := loadCatalogue(t)
	usersFile, foodsFile := filepath.Join(dir, "users.csv"), filepath.Join(dir, "foods.csv")
	s := setup{args: []string{"-workers", "2", "-catalog-dir", dir}}.serve(t)
	l := startLoad(t, s, loadClients, true)
	rolls := 0
	roll := func() {
		t.Helper()
		before := s.workers(t)
		s.signal(t, syscall.SIGHUP)
		rolls++
		within(t, "end of the replacement", func() bool { return s.logged(t, "all workers are replaced") == rolls })
		l.awaitOrders(t, 50)
		awaitEnd(t, before...)
		checkNewcomer(t, s, "200")
	}

	checkNewcomer(t, s, "403 USER_AUTH_FAIL")
	users += "30000,newcomer,hello\n"
	write(t, usersFile, "id,name,password\n"+users)
	roll()
	write(t, usersFile, "id,name,password\n"+users+"30001,newcomer,again\n")
	roll()
	write(t, usersFile, "id,name,password\n1,root,r\n")
	write(t, foodsFile, "id,stock,price\n"+foods+fmt.Sprintf("%d,1,1\n", loadFoods+1))
	roll()

	twice := fmt.Sprintf(`name \"newcomer\" is also at %s:%d; give each user a name of its own`, usersFile, loadUsers+2)
	other := fmt.Sprintf("its foods, stocks or prices are not those of the sale: %s: the sale has no food %d",
		foodsFile, loadFoods+1)
	for _, reason := range []string{twice, other} {
		if n := s.logged(t, reason); n != 1 {
			t.Errorf("the log says %d times, not once, that %s", n, reason)
		}
	}
	l.stop()
	if len(l.failed) != 0 {
		t.Errorf("requests failed: %v", l.failed)
	}
	l.audit(t, s)
}

// inFlight freezes Redis and sends a request that can be answered only once Redis goes on.
func inFlight(t *testing.T, s *server, redis *redistest.Server) *client {
	t.Helper()
	c := s.client(t)
	must(t, c.loginUser(2))
	cart, err := c.newCart()
	must(t, err)
	redis.Freeze(t)
	must(t, c.send("PATCH", "/carts/"+cart, `{"food_id":1,"count":1}`))
	return c
}

// awaitClosed waits until nobody listens at the address.
func awaitClosed(t *testing.T, address string) {
	t.Helper()
	within(t, "refusal of connections", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return errors.Is(err, syscall.ECONNREFUSED)
	})
}

func TestTerminationAnswersWhatIsInFlight(t *testing.T) {
	certificate := certtest.Write(t, folder(t), time.Now().Add(time.Hour))
	for name, args := range map[string][]string{
		"workers": {"-workers", "2"},
		"one":     {"-workers", "1"},
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
			must(t, idle.loginUser(2))
			c := inFlight(t, s, redis)
			begin := time.Now()
			s.signal(t, syscall.SIGTERM)
			awaitClosed(t, s.address)
			if n, err := idle.reader.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("an idle connection reads %d bytes, %v; want its end", n, err)
			}
			redis.Thaw(t)
			if r, err := c.receive("PATCH"); err != nil || r.status != 204 || !r.close {
				t.Errorf("the request in flight: %d, close %v, %v; want 204 and close", r.status, r.close, err)
			}
			if code := s.wait(t); code != 0 {
				t.Errorf("exit code %d, want 0", code)
			}
			if took := time.Since(begin); took > drain {
				t.Errorf("the stop took %v, longer than -drain %v", took, drain)
			}
			if log := read(t, s.stderr); log != "" {
				t.Errorf("a stop in order logs %q", log)
			}
		})
	}
}

func TestSecondSignalKills(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	s := setup{args: []string{"-redis", redis.Socket, "-users", "2", "-workers", "2", "-drain", "1h", "-redis-timeout", "1m"}}.serve(t)
	workers := s.workers(t)
	inFlight(t, s, redis)
	s.signal(t, syscall.SIGTERM)
	awaitClosed(t, s.address)
	// The default is restored with the first signal, but not in the same moment: until then others are swallowed.
	within(t, "end by a second signal", func() bool {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-s.ended:
			return true
		default:
			return false
		}
	})
	if status := s.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("the server ended with %v, want by SIGTERM", s.cmd.ProcessState)
	}
	awaitEnd(t, workers...)
}

// A supervisor that is killed takes all its processes with it, and the sale goes on where it was.
func TestKilledSupervisorIsRestarted(t *testing.T) {
	t.Parallel()
	needRedis(t)
	s := setup{args: append([]string{"-workers", "2"}, loadArgs...)}.serve(t)
	l := startLoad(t, s, loadClients, false)
	buyer := s.client(t)
	const user = loadUsers // far from those of the load
	id, err := buyer.buy(user, basket(user)...)
	must(t, err)
	workers, stores := s.workers(t), s.redisServer(t)
	if len(workers) != 2 || len(stores) != 1 {
		t.Fatalf("workers %v, redis-server %v; want two and one", workers, stores)
	}
	kill(t, s.pid())
	s.wait(t)
	l.stop()
	awaitEnd(t, append(workers, stores...)...)

	again := setup{data: s.data, args: append([]string{"-workers", "2"}, loadArgs...)}.serve(t)
	if want := s.sale(t) + ", goes on"; again.banner(t, "sale") != want {
		t.Errorf("sale %q, want %q", again.banner(t, "sale"), want)
	}
	old := again.client(t)
	old.token = buyer.token
	var orders []order
	if err := old.ask("GET", "/orders", "", &orders); err != nil || len(orders) != 1 || orders[0].ID != id {
		t.Errorf("orders by the old token: %+v, %v; want %s", orders, err, id)
	}
	if _, err := again.client(t).buy(user, basket(user)...); !isRefused(err, 403, "ORDER_OUT_OF_LIMIT") {
		t.Errorf("second order after the restart: %v, want 403 ORDER_OUT_OF_LIMIT", err)
	}
	l.audit(t, again)
}
