package ledger

import (
	"strings"
	"sync"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/redistest"
)

func (s *shop) audit(t *testing.T) *Audit {
	t.Helper()
	a, err := Compare(t.Context(), s.auditConfig(t))
	testkit.Must(t, err)
	return a
}

func (s *shop) auditConfig(t *testing.T) AuditConfig {
	t.Helper()
	return AuditConfig{Database: s.database(t), Redis: s.redis, Sale: s.Sale.Sale, Prices: prices, Stock: stock}
}

func (s *shop) execute(t *testing.T, statement string) {
	t.Helper()
	result, err := s.db.ExecContext(t.Context(), strings.ReplaceAll(statement, "SALE", s.ID()))
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		t.Fatalf("%s: %d rows, %v; want one", statement, n, err)
	}
}

// auditSteps spoil a sale of orders 2 to 20 one by one; SALE stands for its id.
var auditSteps = []struct {
	name, statement string
	want            Audit
	text            string // after the counts
}{
	{"equal", "", Audit{InRedis: 19, Rows: 19}, ""},
	{"on the way", "order", Audit{InRedis: 20, Rows: 19, OnTheWay: 1}, ""},
	{"missing", "DELETE FROM orders WHERE id = 'SALE-5'",
		Audit{InRedis: 20, Rows: 18, OnTheWay: 1, Missing: 1}, "missing: order SALE-5"},
	{"other total", "UPDATE orders SET total = total + 1 WHERE id = 'SALE-6'",
		Audit{InRedis: 20, Rows: 18, OnTheWay: 1, Missing: 1, Different: 1},
		"different: order SALE-6 has [{1 1} {2 1}], total 13; in the database [{1 1} {2 1}], total 14"},
	{"other count", "UPDATE order_items SET count = 3 WHERE order_id = 'SALE-7' AND food_id = 2",
		Audit{InRedis: 20, Rows: 18, OnTheWay: 1, Missing: 1, Different: 2},
		"different: order SALE-7 has [{2 2} {3 1}], total 120; in the database [{2 3} {3 1}], total 120"},
	{"an item is missing", "DELETE FROM order_items WHERE order_id = 'SALE-8' AND food_id = 1",
		Audit{InRedis: 20, Rows: 18, OnTheWay: 1, Missing: 1, Different: 3},
		"different: order SALE-8 has [{1 1} {3 1}], total 103; in the database [{3 1}], total 103"},
	{"extra", "INSERT INTO orders VALUES ('SALE-99', 99, 3, NOW(3))",
		Audit{InRedis: 20, Rows: 19, OnTheWay: 1, Missing: 1, Different: 3, Extra: 1},
		"extra: order SALE-99 of user 99"},
	{"other user", "UPDATE orders SET user_id = 98 WHERE id = 'SALE-9'",
		Audit{InRedis: 20, Rows: 19, OnTheWay: 1, Missing: 2, Different: 3, Extra: 2},
		"extra: order SALE-9 of user 98"},
	{"a user twice", "INSERT INTO orders VALUES ('SALE-100', 10, 3, NOW(3))",
		Audit{InRedis: 20, Rows: 20, OnTheWay: 1, Missing: 2, Different: 3, Extra: 3},
		"extra: order SALE-100 of user 10, whose order is SALE-10"},
	{"items without order", "INSERT INTO order_items VALUES ('SALE-88', 1, 1)",
		Audit{InRedis: 20, Rows: 20, OnTheWay: 1, Missing: 2, Different: 3, Extra: 4},
		"extra: items of order SALE-88, which is not there"},
}

// Every outcome, one after another in one sale.
func testAudit(t *testing.T, server *launch.MariaDB) {
	redis := redistest.Start(t)
	s := openShop(t, roomtest.Of(redis), server, "audit")
	if _, err := Compare(t.Context(), s.auditConfig(t)); err == nil ||
		!strings.HasPrefix(err.Error(), "cannot read the orders in MySQL audit@") {
		t.Errorf("audit without tables: %v", err)
	}
	stop := testkit.Background(t, s.ledger(t, "a").Run)
	s.buy(t, users(2, 20)...)
	s.await(t, 19)
	stop()
	s.execute(t, "INSERT INTO orders VALUES ('othersal-2', 2, 5, NOW(3))") // of another sale in the same tables
	const head = "audit of sale SALE\n  orders in Redis               "
	for _, step := range auditSteps {
		switch step.statement {
		case "":
		case "order":
			s.buy(t, 21)
		default:
			s.execute(t, step.statement)
		}
		a := s.audit(t)
		var text strings.Builder
		a.Print(&text)
		if want := strings.ReplaceAll(step.text, "SALE", s.ID()); !strings.Contains(text.String(), want) ||
			!strings.HasPrefix(text.String(), strings.ReplaceAll(head, "SALE", s.ID())) {
			t.Errorf("%s: audit\n%swant %q", step.name, text.String(), want)
		}
		equal := step.want.Missing+step.want.Extra+step.want.Different == 0
		if len(a.Examples) != step.want.Missing+step.want.Extra+step.want.Different || a.Equal() != equal {
			t.Errorf("%s: examples %q, equal %v", step.name, a.Examples, a.Equal())
		}
		if a.counts() != step.want.counts() {
			t.Errorf("%s: %v, want %v", step.name, a.counts(), step.want.counts())
		}
	}
	// The examples are bounded.
	for user := 11; user <= 20; user++ {
		redis.Do(t, "SET o_1"+strings.Repeat("0", user-10)+` "1:1,|\n1"`)
	}
	var text strings.Builder
	a := s.audit(t)
	a.Print(&text)
	if len(a.Examples) != examplesMax || !strings.Contains(text.String(), "\n   and 8 more\npieces of ") {
		differences := a.Missing + a.Extra + a.Different
		t.Errorf("%d examples of %d differences:\n%s", len(a.Examples), differences, text.String())
	}
}

func (a *Audit) counts() [6]int {
	return [6]int{a.InRedis, a.Rows, a.OnTheWay, a.Missing, a.Extra, a.Different}
}

// An audit of a sale that goes on finds no difference where there is none.
func testAuditUnderLoad(t *testing.T, server *launch.MariaDB) {
	s := openShop(t, roomtest.Redis(t), server, "live")
	testkit.Background(t, s.ledger(t, "a").Run)
	s.buy(t, 2)
	s.await(t, 1)
	var buying sync.WaitGroup
	ended := make(chan struct{})
	buying.Go(func() {
		defer close(ended)
		s.buy(t, users(3, 5000)...)
	})
	for over := false; !over; {
		select {
		case <-ended:
			over = true
		default:
		}
		if a := s.audit(t); !a.Equal() {
			t.Errorf("audit of a running sale: %+v", a)
		}
	}
	buying.Wait()
	s.await(t, 4999)
	if a := s.audit(t); !a.Equal() || a.InRedis != 4999 || a.Rows != 4999 {
		t.Errorf("audit of %+v, want 4999 orders in both", a)
	}
}
