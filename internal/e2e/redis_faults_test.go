package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/redisx/redistest"
)

var unavailable = client.Refusal{Status: 503, Code: "SERVICE_UNAVAILABLE"}

// checkUnavailable sends an order that must be answered 503, as the contract writes it.
func checkUnavailable(t *testing.T, c *client.Client, cart string) {
	t.Helper()
	const body = `{"code":"SERVICE_UNAVAILABLE","message":"服务繁忙"}`
	r, err := c.Do("POST", "/orders", fmt.Sprintf(`{"cart_id":%q}`, cart))
	testkit.Must(t, err)
	if r.Status != 503 || r.Body != body || r.Header.Get("Retry-After") != "1" {
		t.Errorf("order: %d %s, Retry-After %q; want 503 %s, 1", r.Status, r.Body, r.Header.Get("Retry-After"),
			body)
	}
}

func awaitReady(t *testing.T, c *client.Client, status int) {
	t.Helper()
	testkit.Until(t, fmt.Sprintf("%d from /readyz", status), func() bool {
		r, err := c.Do("GET", "/readyz", "")
		testkit.Must(t, err)
		return r.Status == status
	})
}

// awaitReconnected waits until both workers of the server have lost Redis and found it again.
func awaitReconnected(t *testing.T, s *server) {
	t.Helper()
	testkit.Until(t, "both workers' way back to Redis", func() bool {
		return s.Logged(t, `Redis answers again" worker=0`) > 0 && s.Logged(t, `Redis answers again" worker=1`) > 0
	})
}

// While Redis is frozen, what needs it gets 503 and nothing hangs; then service goes on by itself.
func TestFrozenRedis(t *testing.T) {
	t.Parallel()
	const timeout, frozen = 200 * time.Millisecond, 3 * time.Second
	redis := redistest.New(t)
	s := setup{args: append([]string{"-redis", redis.Socket, "-redis-timeout", timeout.String(),
		"-workers", "2"}, loadArgs...)}.serve(t)
	l := startLoad(t, s, 4, false)
	const user = loadUsers // far from those of the load
	c := s.client(t)
	c.IdempotencyKey = "once"
	testkit.Must(t, c.LoginUser(user))
	cart, err := c.Fill(basket(user)...)
	testkit.Must(t, err)

	redis.Freeze(t)
	pace := time.NewTicker(loadPace)
	defer pace.Stop()
	for begin := time.Now(); time.Since(begin) < frozen; <-pace.C {
		asked := time.Now()
		checkUnavailable(t, c, cart)
		// Ten times what is promised: a bound on what hangs, on a busy machine.
		if took := time.Since(asked); took > 10*(timeout+500*time.Millisecond) {
			t.Errorf("a 503 took %v with -redis-timeout %v", took, timeout)
		}
		if _, err := c.NewCart(); err != nil {
			t.Errorf("a new cart, which needs no Redis: %v", err)
		}
	}
	redis.Thaw(t)
	awaitReconnected(t, s)
	l.awaitOrders(t, 20)
	// Whether an order of those that got 503 was placed is unknown; under its key it may be asked for again.
	if id, err := c.Order(cart); err != nil || id != fmt.Sprintf("%s-%d", s.Sale(t), user) {
		t.Errorf("the order once more: %s, %v", id, err)
	}
	l.checkFailures(t, unavailable)
	l.audit(t, s)
}

// startWithOneWorker starts a server on Redis with two foods of ten pieces; c is user 3 with a piece in the
// cart.
func startWithOneWorker(t *testing.T, redis *redistest.Server) (s *server, c *client.Client, cart string) {
	t.Helper()
	s = setup{args: []string{"-redis", redis.Socket, "-workers", "1", "-users", "10", "-foods", "2",
		"-stock", "10",
		"-snapshot-interval", "1s"}}.serve(t)
	c = s.client(t)
	awaitReady(t, c, 200) // a worker on a busy machine may begin without Redis
	testkit.Must(t, c.LoginUser(3))
	cart, err := c.Fill(item(1, 1))
	testkit.Must(t, err)
	return s, c, cart
}

// A Redis that loses the sale while servers run sells nothing until it has the sale again.
func TestEmptiedRedis(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	s, c, cart := startWithOneWorker(t, redis)
	id := s.Sale(t)
	_, err := s.client(t).Buy(2, item(1, 2))
	testkit.Must(t, err)
	marker := strings.TrimPrefix(redis.Do(t,
		`EVAL "return redis.status_reply(redis.call('HGET', 'sale', 'catalog'))" 0`), "+")

	redis.Flush(t)
	checkUnavailable(t, c, cart) // the first order, although its cart is lost too
	awaitReady(t, c, 503)
	testkit.Until(t, "a GET /sale that knows no state", func() bool {
		r, err := c.Do("GET", "/sale", "")
		return err == nil && r.Status == 503
	})
	for range 20 {
		checkUnavailable(t, c, cart)
	}
	if keys := keysOfSale(t, redis); keys != "" {
		t.Errorf("the emptied Redis holds %s", keys)
	}

	redis.Do(t, "HSET sale id otherone catalog "+marker)
	for range 20 {
		checkUnavailable(t, c, cart)
	}
	if keys := keysOfSale(t, redis); keys != "sale" {
		t.Errorf("the Redis of another sale holds %s, want its marker", keys)
	}
	testkit.Until(t, "one line about the loss", func() bool {
		return s.Logged(t, "Redis has lost the sale: every order gets 503") == 1
	})

	redis.Do(t, "HSET stock_"+id+" 1 8 2 10")
	redis.Do(t, "HSET sale id "+id+" catalog "+marker)
	awaitReady(t, c, 200)
	if _, err := s.client(t).Buy(3, item(1, 1)); err != nil {
		t.Errorf("order after the sale came back: %v", err)
	}
	s.awaitStock(t, map[int]int{1: 7, 2: 10})
	testkit.Until(t, "one line about the return", func() bool {
		return s.Logged(t, "the sale is back in Redis") == 1
	})
}

// keysOfSale lists the keys of Redis but those of the statistics and of the limits, which go on.
func keysOfSale(t *testing.T, redis *redistest.Server) string {
	t.Helper()
	keys := redis.Do(t, `EVAL "return {ok = table.concat(redis.call('KEYS', '*'), ' ')}" 0`)
	return strings.Join(slices.DeleteFunc(strings.Fields(strings.TrimPrefix(keys, "+")), func(key string) bool {
		return strings.HasPrefix(key, "traffic:") || strings.HasPrefix(key, "limit_")
	}), " ")
}

// The default store keeps what was answered and is started again when it is killed.
func TestKilledStoreIsRestarted(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	s := setup{args: append([]string{"-workers", "2"}, loadArgs...)}.serve(t)
	workers, before := s.Workers(), s.Stores()
	l := startLoad(t, s, loadClients, false)
	if len(before) != 1 {
		t.Fatalf("redis-server processes %v, want one", before)
	}
	kill(t, before[0])
	testkit.Until(t, "new store", func() bool { return s.Logged(t, "store answers again") == 1 })
	awaitReconnected(t, s)
	l.awaitOrders(t, 50)
	if after := s.Stores(); len(after) != 1 || after[0] == before[0] {
		t.Errorf("redis-server processes %v, want another one than %v", after, before)
	}
	if after := s.Workers(); !slices.Equal(after, workers) {
		t.Errorf("workers %v, want those from before, %v", after, workers)
	}
	l.checkFailures(t, unavailable)
	l.audit(t, s)
}

// A worker that is started again while Redis is away answers 503 and does not let its clients wait.
func TestWorkerStartsWithoutRedis(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	s, c, _ := startWithOneWorker(t, redis)
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
