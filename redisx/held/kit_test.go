package held

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

const usersMax = 1000

// stand is a sale with held orders.
type stand struct {
	testing.TB
	cfg    redisx.Config
	sale   *redisx.Sale
	orders *Orders
	keys   redisx.Keys
	carts  int
}

// onEach runs a test on a real redis-server and on the in-memory engine.
func onEach(t *testing.T, test func(t *testing.T, cfg redisx.Config)) {
	cfg := redisx.Config{Config: pipeline.Config{Timeout: testkit.Patience}, CartTTL: time.Hour,
		Hold: time.Hour}
	t.Run("redis-server", func(t *testing.T) {
		cfg := cfg
		cfg.Network, cfg.Address = "unix", redistest.Start(t).Socket
		test(t, cfg)
	})
	t.Run("memory", func(t *testing.T) {
		cfg := cfg
		cfg.Network, cfg.Address = "tcp", redistest.MemoryToo(t)
		test(t, cfg)
	})
}

// newStand opens a sale with this stock.
func newStand(tb testing.TB, cfg redisx.Config, stock ...int64) *stand {
	tb.Helper()
	opened, err := redisx.Open(tb.Context(), cfg,
		redisx.Opening{Catalog: "foods, 0123456789abcdef", Stock: stock})
	testkit.Must(tb, err)
	s := &stand{TB: tb, cfg: cfg, sale: redisx.Join(cfg, opened.Sale, len(stock), usersMax),
		orders: New(cfg, opened.Sale, len(stock)), keys: cfg.KeysOf(opened.Sale, 0)}
	testkit.Background(tb, s.sale.Run)
	testkit.Background(tb, s.orders.Run)
	testkit.Until(tb, "connected", func() bool {
		_, err := s.orders.Release(0)
		return err == nil && s.buy(usersMax, nil) == redisx.ErrCartEmpty
	})
	return s
}

// placed is the outcome of an order.
type placed struct {
	number int
	done   chan error
}

func (p *placed) Number(before int) { p.number = before }
func (p *placed) Done(err error)    { p.done <- err }

// buy orders pieces for a user; the number of the order is in the error's place in order.
func (s *stand) buy(user uint32, items []redisx.Item) error {
	_, err := s.place(user, items)
	return err
}

func (s *stand) place(user uint32, items []redisx.Item) (ID, error) {
	return s.placeUnder(redisx.Terms{}, user, items...)
}

func (s *stand) placeUnder(terms redisx.Terms, user uint32, items ...redisx.Item) (ID, error) {
	s.carts++
	cart := fmt.Appendf(nil, "cart%012d", s.carts)
	for _, item := range items {
		done := &placed{done: make(chan error, 1)}
		s.sale.AddToCart(user, cart, item.Food, item.Count, done)
		testkit.Must(s, <-done.done)
	}
	done := &placed{done: make(chan error, 1)}
	s.sale.PlaceOrderUnder(terms, user, cart, nil, false, done)
	err := <-done.done
	return ID{user, done.number}, err
}

// must is buy that succeeds.
func (s *stand) must(user uint32, items ...redisx.Item) ID {
	s.Helper()
	id, err := s.place(user, items)
	testkit.Must(s, err)
	return id
}

func (s *stand) raw(receiver any, words ...string) {
	s.Helper()
	redistest.Command(s, s.cfg.Network, s.cfg.Address, receiver, words...)
}

// expire ends the hold of a user's order now, and sweeps.
func (s *stand) expire(user uint32) {
	s.Helper()
	s.raw(nil, "ZADD", s.keys.Holds, "XX", "1", fmt.Sprint(user))
	for released := 1; released > 0; {
		r, err := s.orders.Release(0)
		testkit.Must(s, err)
		released = r.Orders
	}
}

// order is what a user has, "" for nothing: "items state number payment".
func (s *stand) order(user uint32) string {
	s.Helper()
	o, err := s.sale.Order(user)
	testkit.Must(s, err)
	if len(o.Items) == 0 {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %d %s", list(o.Items), o.Hold.State, o.Hold.Number,
		o.Hold.Payment))
}

// events are all events: "user-number seq what".
func (s *stand) events() (list []string) {
	s.Helper()
	var entries []radix.StreamEntry
	s.raw(&entries, "XRANGE", s.keys.Events, "-", "+")
	for _, e := range entries {
		f := map[string]string{}
		for _, field := range e.Fields {
			f[field[0]] = field[1]
		}
		text := fmt.Sprintf("%s-%s %s %s", f["user"], f["number"], f["seq"], f["what"])
		if f["reason"] != "" {
			text += " (" + f["reason"] + ")"
		}
		if f["what"] == "refund_due" && (f["payment"] == "" || f["amount"] == "") {
			s.Errorf("%s does not tell what to give back: %v", text, f)
		}
		list = append(list, text)
	}
	return list
}

func (s *stand) wantError(what string, err, want error) {
	s.Helper()
	if !errors.Is(err, want) || want == nil && err != nil {
		s.Errorf("%s: %v, want %v", what, err, want)
	}
}
