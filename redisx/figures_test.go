package redisx

import (
	"errors"
	"slices"
	"testing"
	"time"

	"flashsale/internal/observe/figures"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// Only an order that is placed counts: not one that is refused, and not the same one once more.
func TestPlacedOrdersAreCounted(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		cfg.Figures = figures.Private()
		s := open(t, cfg, 1, 5)
		for user := range uint32(2) {
			for range 2 {
				_ = s.addToCart(user+1, cartName(int(user)), 1, 1)
				_ = s.placeOrder(user+1, cartName(int(user)), []byte("k"))
			}
		}
		if n := cfg.Figures.OrdersPlaced.Value(); n != 1 {
			t.Errorf("%d orders are counted, want 1", n)
		}
		begin := time.Now()
		if _, err := s.stock(); err != nil {
			t.Fatal(err)
		}
		if read := time.Unix(0, cfg.Figures.StockRead.Value()); read.Before(begin) || read.After(time.Now()) {
			t.Errorf("the stock was read at %v, want from %v on", read, begin)
		}
		if cfg.Figures.Redis.BatchCalls.Read().Sum == 0 || cfg.Figures.QueueCallsMax.Value() == 0 {
			t.Error("the calls are not counted")
		}
	})
}

// A sale without users answers what Redis holds, and goes on once Redis is back.
func TestJoinWithoutUsers(t *testing.T) {
	server := redistest.New(t)
	cfg := unix(server)
	cfg.Quiet = true
	id := open(t, cfg, 3, 4).ID()
	s := runUnready(t, Join(cfg, id, 2, 0))
	testkit.Until(t, "a look", func() bool { _, err := s.Ready(); return err == nil })
	if stock, err := s.stock(); err != nil || !slices.Equal(stock, []int64{3, 4}) {
		t.Errorf("stock %v, %v; want 3 and 4", stock, err)
	}
	server.Do(t, "FLUSHALL")
	if _, err := s.Ready(); !errors.Is(err, ErrSaleGone) {
		t.Errorf("without the sale: %v, want ErrSaleGone", err)
	}
	server.Kill(t)
	if _, err := s.Ready(); !errors.Is(err, ErrUnavailable) {
		t.Errorf("without Redis: %v, want ErrUnavailable", err)
	}
	server.Restart(t)
	testkit.Until(t, "an answer", func() bool { _, err := s.Ready(); return errors.Is(err, ErrSaleGone) })
}
