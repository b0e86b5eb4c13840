package ledger

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/saletest"
)

// durable makes MariaDB keep what it has committed, also when it is killed.
const durable = "--innodb-flush-log-at-trx-commit=1"

var prices, stock = []int64{3, 10, 100}, []int64{1e6, 1e6, 1e6}

// shop is an open sale of three foods, and a database for its ledger.
type shop struct {
	saletest.Sale
	redis redisx.Config
	db    *sql.DB // to look into the database
	dsn   string
}

// openShop opens the sale in a Redis and creates the database.
func openShop(t *testing.T, at pipeline.Config, server *launch.MariaDB, name string) *shop {
	t.Helper()
	return openSlices(t, at, 0, server, name)
}

// openHeld is openShop with orders that are held until they are paid.
func openHeld(t *testing.T, at pipeline.Config, server *launch.MariaDB, name string) *shop {
	t.Helper()
	return openSale(t, redisx.Config{Config: at, CartTTL: time.Hour, Hold: time.Hour}, server, name)
}

// openSlices is openShop with a number of slices.
func openSlices(t *testing.T, at pipeline.Config, slices int, server *launch.MariaDB, name string) *shop {
	t.Helper()
	return openSale(t, redisx.Config{Config: at, CartTTL: time.Hour, Slices: slices}, server, name)
}

func openSale(t *testing.T, redis redisx.Config, server *launch.MariaDB, name string) *shop {
	t.Helper()
	opened, err := redisx.Open(t.Context(), redis, redisx.Opening{Catalog: "foods", Stock: stock})
	testkit.Must(t, err)
	sale := saletest.Join(t, redis, opened.Sale, len(prices))
	return &shop{Sale: sale, redis: redis, db: server.Open(t, name),
		dsn: fmt.Sprintf("%s:%s@tcp(%s:%d)/%s", server.User, server.Password, server.Host, server.Port, name)}
}

// ledger switches the ledger of the shop on, for a consumer.
func (s *shop) ledger(t *testing.T, consumer string) *Ledger {
	t.Helper()
	l, err := New(t.Context(), Config{
		Database: s.database(t), Redis: s.redis, Sale: s.ID(), Prices: prices, Address: consumer,
	})
	testkit.Must(t, err)
	return l
}

func (s *shop) database(t *testing.T) *Database {
	t.Helper()
	db, err := NewDatabase(s.dsn)
	testkit.Must(t, err)
	if s.redis.Hold > 0 {
		db.holding()
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// buy places an order for each of the users: of user n, one or two pieces of food n%3+1 and one of the
// next.
func (s *shop) buy(t *testing.T, users ...uint32) {
	t.Helper()
	for _, user := range users {
		if err := s.order(user); err != nil {
			t.Errorf("order of user %d: %v", user, err)
			return
		}
	}
}

func (s *shop) order(user uint32) error {
	cart := saletest.CartName(int(user))
	for _, item := range basket(user) {
		if err := s.AddToCart(user, cart, item.Food, item.Count); err != nil {
			return err
		}
	}
	return s.PlaceOrder(user, cart, nil)
}

func basket(user uint32) []redisx.Item {
	food := int64(user) % 3
	return []redisx.Item{{Food: food + 1, Count: int64(user)%2 + 1}, {Food: (food+1)%3 + 1, Count: 1}}
}

// await waits until the stream is empty and the database has that number of orders.
func (s *shop) await(t *testing.T, orders int) {
	t.Helper()
	testkit.Until(t, fmt.Sprintf("%d orders in the database", orders), func() bool {
		var n int
		found, err := s.Ready()
		if err != nil || !found.Kept || found.Orders > 0 {
			return false
		}
		return s.db.QueryRow("SELECT COUNT(*) FROM orders").Scan(&n) == nil && n >= orders
	})
}

// check compares the tables with what these users have bought. It is written without the code under test.
func (s *shop) check(t *testing.T, users ...uint32) {
	t.Helper()
	want := map[string]string{}
	for _, user := range users {
		items := basket(user)
		total := prices[items[0].Food-1]*items[0].Count + prices[items[1].Food-1]
		slices.SortFunc(items, func(a, b redisx.Item) int { return int(a.Food - b.Food) })
		want[fmt.Sprintf("%s-%d", s.ID(), user)] = fmt.Sprintf("%d %d %d:%d,%d:%d", user, total,
			items[0].Food, items[0].Count, items[1].Food, items[1].Count)
	}
	if got := s.rows(t); !maps.Equal(got, want) {
		t.Errorf("%d orders in the database, want %d: %.500v\nwant %.500v", len(got), len(want), got, want)
	}
}

// rows reads the tables: order id -> "user total food:count,...".
func (s *shop) rows(t *testing.T) map[string]string {
	t.Helper()
	return s.texts(t, "SELECT o.id, CONCAT(o.user_id, ' ', o.total, ' ', "+
		"GROUP_CONCAT(i.food_id, ':', i.count ORDER BY i.food_id))"+
		" FROM orders o JOIN order_items i ON i.order_id = o.id GROUP BY o.id")
}

// texts reads a text for each order id.
func (s *shop) texts(t *testing.T, query string) map[string]string {
	t.Helper()
	rows, err := s.db.QueryContext(t.Context(), query)
	testkit.Must(t, err)
	defer rows.Close()
	got := map[string]string{}
	for rows.Next() {
		var id, text string
		testkit.Must(t, rows.Scan(&id, &text))
		got[id] = text
	}
	testkit.Must(t, rows.Err())
	return got
}

func users(first, last uint32) (list []uint32) {
	for user := first; user <= last; user++ {
		list = append(list, user)
	}
	return list
}
