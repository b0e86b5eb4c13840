// Package saletest gives tests a running sale, on each engine of Redis.
package saletest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// Catalog is the fingerprint of the foods of Open.
const Catalog = "2 foods, 0123456789abcdef"

// usersMax is the number of users of a sale.
const usersMax = 1_000_000

// Config is how to reach a redis-server.
func Config(s *redistest.Server) redisx.Config { return config("unix", s.Socket) }

func config(network, address string) redisx.Config {
	return redisx.Config{CartTTL: time.Hour,
		Config: pipeline.Config{Network: network, Address: address, Timeout: redistest.Timeout}}
}

// OnEach runs a test on a real redis-server and on the in-memory engine.
func OnEach(t *testing.T, test func(t *testing.T, cfg redisx.Config)) {
	t.Helper()
	redistest.OnEach(t, func(t *testing.T, network, address string) { test(t, config(network, address)) })
}

// OnSlices runs a test as OnEach does, and on a redis-server with a sale of three slices.
func OnSlices(t *testing.T, test func(t *testing.T, cfg redisx.Config)) {
	t.Helper()
	OnEach(t, test)
	t.Run("slices", func(t *testing.T) {
		cfg := Config(redistest.Start(t))
		cfg.Slices = 3
		test(t, cfg)
	})
}

// OnCluster runs a test on a Redis Cluster of three masters, with a sale of three slices.
func OnCluster(t *testing.T, test func(t *testing.T, cfg redisx.Config)) {
	t.Helper()
	redistest.OnPrograms(t, func(t *testing.T, program string) {
		cfg := config("tcp", redistest.Cluster(t, program, 3, 0).Seeds())
		cfg.Cluster, cfg.Slices = true, 3
		test(t, cfg)
	})
}

// Sale is a sale with changes that wait for their outcome.
type Sale struct{ *redisx.Sale }

// Open opens a sale and joins it until the test ends.
func Open(tb testing.TB, cfg redisx.Config, stock ...int64) Sale {
	tb.Helper()
	opened, err := redisx.Open(tb.Context(), cfg, redisx.Opening{Catalog: Catalog, Stock: stock})
	testkit.Must(tb, err)
	return Join(tb, cfg, opened.Sale, len(stock))
}

// Join joins the sale with the id until the test ends.
func Join(tb testing.TB, cfg redisx.Config, id string, foods int) Sale {
	tb.Helper()
	testkit.KeepLog(tb)
	s := redisx.Join(cfg, id, foods, usersMax)
	testkit.Background(tb, s.Run)
	testkit.Until(tb, "connected", func() bool {
		_, err := s.Ready() // content with one slice
		return !errors.Is(err, redisx.ErrUnavailable) && !errors.Is(s.Check(), redisx.ErrUnavailable)
	})
	return Sale{s}
}

// outcome is a redisx.Outcome that a test can wait for.
type outcome chan error

func (o outcome) Done(err error) { o <- err }

// AddToCart is redisx.Sale.AddToCart.
func (s Sale) AddToCart(user uint32, cart []byte, food, count int64) error {
	done := make(outcome, 1)
	s.Sale.AddToCart(user, cart, food, count, done)
	return <-done
}

// PlaceOrder is redisx.Sale.PlaceOrder.
func (s Sale) PlaceOrder(user uint32, cart, idempotencyKey []byte) error {
	return s.PlaceOrderUnder(redisx.Terms{}, user, cart, idempotencyKey)
}

// PlaceOrderUnder is redisx.Sale.PlaceOrderUnder.
func (s Sale) PlaceOrderUnder(terms redisx.Terms, user uint32, cart, idempotencyKey []byte) error {
	done := make(outcome, 1)
	s.Sale.PlaceOrderUnder(terms, user, cart, idempotencyKey, false, done)
	return <-done
}

// Stock returns the pieces left of food 1, 2, 3, ...
func (s Sale) Stock() ([]int64, error) {
	found, err := s.Snapshot()
	return found.Left, err
}

// CartName is the name of a cart.
func CartName(i int) []byte { return fmt.Appendf(nil, "cart%012d", i) }

// Buy places an order of a piece of food 1 for each user, from the cart of that number, under the key "key".
func (s Sale) Buy(tb testing.TB, users ...int) {
	tb.Helper()
	for _, user := range users {
		err := s.AddToCart(uint32(user), CartName(user), 1, 1)
		if err == nil {
			err = s.PlaceOrder(uint32(user), CartName(user), []byte("key"))
		}
		testkit.Must(tb, err)
	}
}

// Command runs one command on a connection of its own. In a cluster its first argument is the key.
func Command(tb testing.TB, cfg redisx.Config, receiver any, words ...string) {
	tb.Helper()
	l, err := pipeline.Dial(tb.Context(), cfg.Room(words[min(1, len(words)-1)]))
	testkit.Must(tb, err)
	defer l.Close()
	testkit.Must(tb, l.Do(pipeline.Command(receiver, words...), cfg.Timeout))
}

// Text runs one command and returns its reply.
func Text(tb testing.TB, cfg redisx.Config, words ...string) (reply string) {
	tb.Helper()
	Command(tb, cfg, &reply, words...)
	return reply
}
