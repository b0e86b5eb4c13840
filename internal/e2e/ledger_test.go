package e2e

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx/redistest"
)

// durable makes MariaDB keep what it has committed, also when it is killed.
const durable = "--innodb-flush-log-at-trx-commit=1"

// books is a database that gets the orders of a sale.
type books struct {
	*sql.DB
	server *launch.MariaDB
	dsn    string
}

func openBooks(t *testing.T, server *launch.MariaDB, name string) *books {
	t.Helper()
	dsn := fmt.Sprintf("%s:%s@tcp(%s:%d)/%s", server.User, server.Password, server.Host, server.Port, name)
	return &books{server.Open(t, name), server, dsn}
}

// env is the environment of a server that writes into the books.
func (b *books) env() []string { return []string{"LEDGER=" + b.dsn, "TOKEN_SECRET=" + sharedSecret} }

// orders reads all orders from the tables, by user.
func (b *books) orders(t *testing.T) map[int]client.Order {
	t.Helper()
	return b.ordersOf(t, "")
}

// ordersOf reads the orders of a sale, "" for all sales.
func (b *books) ordersOf(t *testing.T, sale string) map[int]client.Order {
	t.Helper()
	rows, err := b.Query("SELECT o.id, o.user_id, o.total, i.food_id, i.count "+
		"FROM orders o JOIN order_items i ON i.order_id = o.id WHERE o.id LIKE ?", sale+"%")
	testkit.Must(t, err)
	defer rows.Close()
	byUser := map[int]client.Order{}
	for rows.Next() {
		var o client.Order
		var i client.Item
		testkit.Must(t, rows.Scan(&o.ID, &o.User, &o.Total, &i.Food, &i.Count))
		o.Items = append(byUser[o.User].Items, i)
		byUser[o.User] = o
	}
	testkit.Must(t, rows.Err())
	return byUser
}

// await waits until the tables hold as many orders as wanted and compares all of them.
func (b *books) await(t *testing.T, want map[int]client.Order) {
	t.Helper()
	b.awaitOf(t, "", want)
}

// awaitOf is await for the orders of a sale.
func (b *books) awaitOf(t *testing.T, sale string, want map[int]client.Order) {
	t.Helper()
	testkit.Until(t, fmt.Sprintf("%d orders in the database", len(want)), func() bool {
		var n int
		err := b.QueryRow("SELECT COUNT(*) FROM orders WHERE id LIKE ?", sale+"%").Scan(&n)
		return err == nil && n >= len(want)
	})
	byFood := func(items []client.Item) []client.Item {
		return slices.SortedFunc(slices.Values(items), func(a, b client.Item) int {
			return cmp.Compare(a.Food, b.Food)
		})
	}
	got := b.ordersOf(t, sale)
	if !maps.EqualFunc(got, want, func(x, y client.Order) bool {
		return x.ID == y.ID && x.Total == y.Total && slices.Equal(byFood(x.Items), byFood(y.Items))
	}) {
		t.Errorf("%d orders in the database are not the %d of the sale: %.500v\nwant %.500v", len(got), len(want),
			got, want)
	}
}

// waiting returns the backlog of the ledger by /readyz; told reports whether /readyz shows a ledger.
func (s *server) waiting(t *testing.T) (orders int, oldest float64, told bool) {
	t.Helper()
	r, err := s.client(t).Do("GET", "/readyz", "")
	testkit.Must(t, err)
	var detail struct {
		Ledger *struct {
			Waiting int     `json:"orders_waiting"`
			Oldest  float64 `json:"oldest_seconds"`
		}
	}
	if r.Status != 200 {
		t.Errorf("/readyz: %d %s, want 200", r.Status, r.Body)
	}
	testkit.Must(t, json.Unmarshal([]byte(r.Body), &detail))
	if detail.Ledger == nil {
		return 0, 0, false
	}
	return detail.Ledger.Waiting, detail.Ledger.Oldest, true
}

// One database server for all cases: it takes seconds to start.
func TestMariaDB(t *testing.T) {
	t.Parallel()
	server := launch.StartMariaDB(t, durable)
	for _, test := range []struct {
		name string
		run  func(t *testing.T, b *books)
	}{
		{"workers", testLedgerWrites},
		{"supervisor", testLedgerSupervisorKilled},
		{"audit", testLedgerAudit},
		{"held", testHeldLedgerAudit},
		{"refused", testBadLedgerIsRefused},
		{"catalogue", testSaleFromMariaDB},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, openBooks(t, server, test.name))
		})
	}
}

// An order that was placed over HTTP is in the database; the password of the database is nowhere.
func testLedgerWrites(t *testing.T, b *books) {
	redis := redistest.New(t)
	s := setup{env: b.env(), args: []string{"-redis", redis.Socket, "-workers", "2"}}.serve(t)
	_, err := s.client(t).Buy(2, item(1, 2), item(3, 1))
	testkit.Must(t, err)
	b.await(t, s.orders(t))
	testkit.Until(t, "empty stream", func() bool {
		orders, _, told := s.waiting(t)
		return told && orders == 0
	})
	if want := "every order goes to MySQL "; !strings.HasPrefix(s.Banner(t, "ledger"), want) {
		t.Errorf("ledger %q, want %q first", s.Banner(t, "ledger"), want)
	}
	for _, worker := range s.Workers() {
		if strings.Contains(visible(t, worker), "toor") {
			t.Error("a worker's arguments or environment show the password of the database")
		}
	}
	_, err = s.client(t).Buy(3, item(2, 1))
	testkit.Must(t, err)
	s.End(t)
	if got := b.orders(t); len(got) != 2 {
		t.Errorf("%d orders in the database after the stop, want 2", len(got))
	}
	if strings.Contains(testkit.ReadFile(t, s.Stdout)+testkit.ReadFile(t, s.Log), "toor") {
		t.Error("the output shows the password of the database")
	}
	if strings.Contains(testkit.ReadFile(t, s.Log), "level=ERROR") {
		t.Error("errors are logged")
	}
}

// The whole server is killed under load and started again.
func testLedgerSupervisorKilled(t *testing.T, b *books) {
	testkit.Need(t, "redis-server")
	s := setup{env: b.env(), args: append([]string{"-workers", "2"}, loadArgs...)}.serve(t)
	for range 3 {
		l := startLoad(t, s, loadClients, false)
		l.awaitOrders(t, 50)
		workers := s.Workers()
		kill(t, s.Pid())
		l.stop()
		s.ExitCode(t)
		awaitEnd(t, workers...)
		s = setup{data: s.Data, env: b.env(), args: append([]string{"-workers", "2"}, loadArgs...)}.serve(t)
		orders := s.orders(t)
		for user, id := range l.placed {
			if orders[user].ID != id {
				t.Errorf("order %s of user %d was answered 200 and is not there", id, user)
			}
		}
		b.await(t, orders)
	}
}

// The sale opens and goes on without its database and logs that; a database that comes, is killed and comes
// again gets every order once.
func TestLedgerWithoutDatabase(t *testing.T) {
	t.Parallel()
	server := launch.StartMariaDB(t, durable)
	b := openBooks(t, server, "shop")
	server.Kill()
	s := setup{env: b.env(), args: append([]string{"-redis", redistest.New(t).Socket,
		"-workers", "2"}, loadArgs...)}.serve(t)
	if n := s.Logged(t, "the sale goes on without its database; orders wait in Redis"); n != 1 {
		t.Errorf("the missing database is logged %d times, want once", n)
	}
	l := startLoad(t, s, loadClients, false)
	l.awaitOrders(t, 100)
	if orders, oldest, told := s.waiting(t); !told || orders < 100 || oldest <= 0 {
		t.Errorf("by /readyz %d orders wait, the oldest for %v s; want all", orders, oldest)
	}
	server.Restart(t)
	testkit.Until(t, "orders in the database", func() bool {
		orders, _, _ := s.waiting(t)
		return orders < 50
	})
	for range 2 {
		l.awaitOrders(t, 50)
		server.Kill()
		l.awaitOrders(t, 50)
		server.Restart(t)
	}
	l.awaitOrders(t, 50)
	l.checkFailures(t)
	l.audit(t, s)
	b.await(t, s.orders(t))
}

// A server stops in order while its database is away; its log has what waits, and no password.
func TestStopWithoutDatabase(t *testing.T) {
	t.Parallel()
	s := setup{env: []string{"LEDGER=root:guess@tcp(" + closedAddress(t) + ")/shop"},
		args: []string{"-redis", redistest.New(t).Socket, "-workers", "1"}}.serve(t)
	_, err := s.client(t).Buy(2, item(1, 1))
	testkit.Must(t, err)
	s.End(t)
	for text, want := range map[string]int{
		"orders do not get into the database; they wait in Redis":                    1,
		"the ledger stops before all orders are in the database; they stay in Redis": 1,
		"guess": 0,
	} {
		if n := s.Logged(t, text); n != want {
			t.Errorf("%q is logged %d times, want %d", text, n, want)
		}
	}
}

// A database that cannot become the ledger by waiting is refused before a sale is opened.
func testBadLedgerIsRefused(t *testing.T, b *books) {
	redis := redistest.New(t)
	s := setup{env: []string{"LEDGER=" + b.dsn + "_"}, args: []string{"-redis", redis.Socket}}.launch(t)
	at := fmt.Sprintf("%s:%d", b.server.Host, b.server.Port)
	checkRefused(t, s.Process, "cannot keep the ledger in MySQL refused_@"+at+
		": Error 1049 (42000): Unknown database 'refused_': fix -ledger (LEDGER) or the database")
	checkEmpty(t, redis)
}
