package ledger

import (
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/held"
	"flashsale/redisx/saletest"
)

// equation reads the orders, lets something happen, and compares them with the stock.
func equation(t *testing.T, cfg AuditConfig, happens func()) *Equation {
	t.Helper()
	c, err := newCounter(t.Context(), cfg)
	testkit.Must(t, err)
	placed := map[string]entry{}
	b := book{cfg.Sale.ID(), cfg.Prices}
	testkit.Must(t, b.scan(t.Context(), cfg.Redis, cfg.Sale, func(entries []entry) error {
		for _, e := range entries {
			placed[e.id] = e
		}
		return nil
	}))
	happens()
	e, err := c.end(t.Context(), placed)
	testkit.Must(t, err)
	return e
}

// wantEquation checks what an equation prints.
func wantEquation(t *testing.T, cfg AuditConfig, want ...string) {
	t.Helper()
	var text strings.Builder
	equation(t, cfg, func() {}).Print(&text)
	if want := strings.Join(want, "\n") + "\n"; text.String() != want {
		t.Errorf("the equation is\n%swant\n%s", text.String(), want)
	}
}

// onHolds runs a test with a sale of final orders and with one of held orders.
func onHolds(t *testing.T, test func(t *testing.T, cfg AuditConfig, s saletest.Sale)) {
	saletest.OnSlices(t, func(t *testing.T, cfg redisx.Config) {
		for _, hold := range []time.Duration{0, time.Hour} {
			cfg.Hold = hold
			stock := []int64{300, 300}
			s := saletest.Open(t, cfg, stock...)
			test(t, AuditConfig{Redis: cfg, Sale: s.Sale, Prices: []int64{1, 1}, Stock: stock}, s)
			saletest.Text(t, cfg, "FLUSHALL")
		}
	})
}

// Every piece that the stock or the orders have lost, or have twice, is told with its food.
func TestEquation(t *testing.T) {
	onHolds(t, func(t *testing.T, cfg AuditConfig, s saletest.Sale) {
		s.Buy(t, 2, 3, 4)
		_, _, err := s.Restock(redisx.Restock{By: "root", Food: 2, Add: 5})
		testkit.Must(t, err)
		k := cfg.Redis.KeysOf(s.ID(), 0)
		spoil := func(args ...string) { saletest.Text(t, cfg.Redis, args...) }
		const head = "pieces of all foods: 600 initial + 5 restocked = "
		if cfg.Redis.Hold == 0 {
			wantEquation(t, cfg, head+"602 left + 3 sold", "  foods that do not add up: 0 of 2")
			spoil("HINCRBY", k.Stock, "2", "-1")
			wantEquation(t, cfg, head+"601 left + 4 sold", "  foods that do not add up: 1 of 2",
				"   food 2: 300 initial + 5 restocked - 304 left = 1 sold; the orders have 0 sold")
			return
		}
		orders := held.New(cfg.Redis, s.ID(), len(cfg.Prices))
		testkit.Background(t, orders.Run)
		testkit.Until(t, "a connection", orders.Up)
		_, err = orders.Paid(held.ID{User: 2}, held.Receipt{Payment: "p", Amount: 1,
			Items: []redisx.Item{{Food: 1, Count: 1}}, Price: 1})
		testkit.Must(t, err)
		_, _, err = orders.Cancel(held.ID{User: 3}, "", "")
		testkit.Must(t, err)
		wantEquation(t, cfg, head+"603 left + 1 held + 1 paid", "  foods that do not add up: 0 of 2")
		spoil("HINCRBY", k.Stock, "~2", "1")
		wantEquation(t, cfg, head+"603 left + 2 held + 0 paid", "  foods that do not add up: 1 of 2",
			"   food 2: 300 initial + 5 restocked - 305 left = 1 held + -1 paid; the orders have 0 held + 0 paid")
		spoil("HINCRBY", k.Stock, "~2", "-1")
		k = cfg.Redis.KeysOf(s.ID(), cfg.Redis.SliceOf(4))
		spoil("DEL", k.Order(4))
		wantEquation(t, cfg, head+"603 left + 1 held + 1 paid", "  foods that do not add up: 1 of 2",
			"   food 1: 300 initial + 0 restocked - 298 left = 1 held + 1 paid; the orders have 0 held + 1 paid")
	})
}

// A stock below 0 is oversold, though the pieces add up.
func TestOversoldIsNoEquation(t *testing.T) {
	saletest.OnEach(t, func(t *testing.T, cfg redisx.Config) {
		s := saletest.Open(t, cfg, 1, 1)
		s.Buy(t, 2)
		k := cfg.KeysOf(s.ID(), 0)
		saletest.Text(t, cfg, "SET", k.Order(3), "1:1,|\n1")
		saletest.Text(t, cfg, "HSET", k.Stock, "1", "-1")
		audit := AuditConfig{Redis: cfg, Sale: s.Sale, Prices: []int64{1, 1}, Stock: []int64{1, 1}}
		wantEquation(t, audit, "pieces of all foods: 2 initial + 0 restocked = 0 left + 2 sold",
			"  foods that do not add up: 1 of 2",
			"   food 1: 1 initial + 0 restocked - -1 left = 2 sold; the orders have 2 sold")
	})
}

// Orders that are placed and released while others are read are no fault. In the end the equation is exact.
func TestEquationUnderLoad(t *testing.T) {
	onHolds(t, func(t *testing.T, cfg AuditConfig, s saletest.Sale) {
		orders := held.New(cfg.Redis, s.ID(), len(cfg.Prices))
		testkit.Background(t, orders.Run)
		testkit.Until(t, "a connection", orders.Up)
		before := equation(t, cfg, func() { s.Buy(t, 2, 3) })
		moving := int64(0) // these orders are read again
		if cfg.Redis.Hold == 0 {
			moving = 2
		}
		if before.Moving != moving || len(before.Wrong) > 0 {
			t.Errorf("%d pieces moved before the stock was read, want %d: %q", before.Moving, moving, before.Wrong)
		}
		var buying sync.WaitGroup
		for first := uint32(10); first < 50; first += 10 {
			buying.Go(func() {
				for user := first; user < first+10; user++ {
					s.Buy(t, int(user))
					if cfg.Redis.Hold > 0 && user%2 == 0 {
						_, _, err := orders.Cancel(held.ID{User: user}, "", "")
						testkit.Must(t, err)
					}
				}
			})
		}
		for range 5 {
			if e := equation(t, cfg, func() {}); len(e.Wrong) > 0 {
				t.Errorf("%d pieces moved: %q", e.Moving, e.Wrong)
			}
		}
		buying.Wait()
		left := int64(600 - 2 - 40)
		if cfg.Redis.Hold > 0 {
			left += 20
		}
		if e := equation(t, cfg, func() {}); len(e.Wrong) > 0 || e.Moving != 0 || e.Left != left {
			t.Errorf("in the end %d left, want %d; %d pieces moved: %q", e.Left, left, e.Moving, e.Wrong)
		}
	})
}
