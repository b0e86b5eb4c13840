package redisx

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"flashsale/internal/serve/eventloop/looptest"
	"flashsale/internal/testkit"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

const catalogPrint = "2 foods, 0123456789abcdef"

// onEach runs a test on a real redis-server, with each engine, and on the in-memory engine of Redis.
func onEach(t *testing.T, test func(t *testing.T, cfg Config)) {
	onEngines(t, func(t *testing.T, loop pipeline.Loop) {
		cfg := unix(redistest.Start(t))
		cfg.Loop = loop
		test(t, cfg)
	})
	t.Run("memory", func(t *testing.T) {
		cfg := defaults
		cfg.Network, cfg.Address = "tcp", redistest.MemoryToo(t)
		test(t, cfg)
	})
}

// onEngines runs a test with the engine of goroutines (loop is nil) and with that of an event loop.
func onEngines(t *testing.T, test func(t *testing.T, loop pipeline.Loop)) {
	t.Run("goroutines", func(t *testing.T) { test(t, nil) })
	t.Run("event loop", func(t *testing.T) { test(t, looptest.Run(t)) })
}

// onServers runs a test on a redis-server of its own, with each engine.
func onServers(t *testing.T, test func(t *testing.T, server *redistest.Server, cfg Config), args ...string) {
	onEngines(t, func(t *testing.T, loop pipeline.Loop) {
		server := redistest.New(t, args...)
		cfg := unix(server)
		cfg.Loop = loop
		test(t, server, cfg)
	})
}

// defaults has a timeout that bounds what hangs: a busy machine stalls for seconds.
var defaults = Config{Config: pipeline.Config{Timeout: 20 * time.Second}, CartTTL: time.Hour}

func unix(s *redistest.Server) Config {
	cfg := defaults
	cfg.Network, cfg.Address = "unix", s.Socket
	return cfg
}

// open opens a sale and joins it with a connection that runs until the test ends.
func open(tb testing.TB, cfg Config, stock ...int64) *Sale {
	tb.Helper()
	opened, err := Open(tb.Context(), cfg, Opening{Catalog: catalogPrint, Stock: stock})
	testkit.Must(tb, err)
	return joinSale(tb, cfg, opened.Sale, len(stock))
}

func joinSale(tb testing.TB, cfg Config, id string, foods int) *Sale {
	tb.Helper()
	return runSale(tb, cfg, func() *Sale { return Join(cfg, id, foods, usersMax) })
}

// runSale runs a sale until the test ends. The sale is made on the thread of its loop, if it has one.
func runSale(tb testing.TB, cfg Config, join func() *Sale) *Sale {
	tb.Helper()
	testkit.KeepLog(tb)
	var s *Sale
	looptest.On(cfg.Loop, func() { s = join() })
	runUnready(tb, s)
	testkit.Until(tb, "connected", func() bool {
		return !errors.Is(s.Check(), ErrUnavailable) && !errors.Is(s.orderNothing(), ErrUnavailable)
	})
	return s
}

// runUnready runs a sale until the test ends, and does not wait for Redis.
func runUnready(tb testing.TB, s *Sale) *Sale {
	tb.Helper()
	testkit.Background(tb, s.Run)
	return s
}

// usersMax is the number of users of a sale; the last one buys nothing.
const usersMax = 1_000_000

// orderNothing sends an order that has no effect, with the changes and behind all that were sent before.
func (s *Sale) orderNothing() error { return s.placeOrder(usersMax, []byte("no cart of a user"), nil) }

// raw runs one command on a connection of its own.
func raw(tb testing.TB, cfg Config, receiver any, words ...string) {
	tb.Helper()
	redistest.Command(tb, cfg.Network, cfg.Address, receiver, words...)
}

func rawString(tb testing.TB, cfg Config, args ...string) string {
	tb.Helper()
	var s string
	raw(tb, cfg, &s, args...)
	return s
}

func cartName(i int) []byte { return fmt.Appendf(nil, "cart%012d", i) }

// outcome is an Outcome that can be waited for.
type outcome chan error

func (o outcome) Done(err error) { o <- err }

// await makes a change on the thread that may make it, and waits for its outcome.
func (s *Sale) await(change func(then Outcome)) error {
	done := make(outcome, 1)
	looptest.On(s.cfg.Loop, func() { change(done) })
	return <-done
}

func (s *Sale) addToCart(user uint32, cart []byte, food, count int64) error {
	return s.await(func(then Outcome) { s.AddToCart(user, cart, food, count, then) })
}

func (s *Sale) placeOrder(user uint32, cart, idempotencyKey []byte) error {
	return s.await(func(then Outcome) { s.PlaceOrder(user, cart, idempotencyKey, then) })
}

// stock returns the pieces left of food 1, 2, 3, ...
func (s *Sale) stock() ([]int64, error) {
	found, err := s.Snapshot()
	return found.Left, err
}
