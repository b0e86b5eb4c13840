package e2e

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx/redistest"
)

var nextID = regexp.MustCompile(`^sale ([a-z2-7]{8}) is there`)

// openNext opens the next sale and returns its id.
func openNext(t *testing.T, of []string, more ...string) string {
	t.Helper()
	found := nextID.FindStringSubmatch(saleDone(t, of, "new", more...))
	if found == nil {
		t.Fatal("flashsale sale new names no sale")
	}
	return found[1]
}

// awaitSale waits until all workers of a server serve a sale.
func awaitSale(t *testing.T, s *server, sale string) {
	t.Helper()
	c := s.client(t)
	c.NewConnections = true
	testkit.Until(t, "sale "+sale+" of "+s.Address, func() bool {
		for range 10 {
			r, err := c.Do("GET", "/readyz", "")
			if err != nil || r.Status != 200 || !strings.Contains(r.Body, `"sale":"`+sale+`"`) {
				return false
			}
		}
		return true
	})
}

// Servers that run take the next sale over under load. Each sale has all that was answered, sold no piece
// twice, and no cart of the one is ordered in the other.
func TestNextSaleIsTakenOver(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	const stock = 100 // of each food: it is sold out
	args := []string{"-redis", redis.Socket, "-users", fmt.Sprint(loadUsers), "-foods", fmt.Sprint(loadFoods),
		"-stock", fmt.Sprint(stock), "-workers", "1", "-limits", "off"}
	env := []string{"TOKEN_SECRET=" + sharedSecret}
	var servers []*server
	for range 3 {
		servers = append(servers, setup{env: env, args: args}.serve(t))
	}
	first := servers[0].Sale(t)
	old := servers[0].client(t)
	testkit.Must(t, old.LoginUser(loadUsers))
	cart, err := old.NewCart()
	testkit.Must(t, err)
	testkit.Must(t, old.Add(cart, item(1, 1)))

	buyers := startLoadOn(t, servers, 9, false)
	testkit.Until(t, "orders in the first sale", func() bool { return len(buyers.ordersOf(first)) > 30 })
	saleDone(t, args, "close")
	saleDone(t, args, "export", "-o", filepath.Join(t.TempDir(), "orders.csv"))
	second := openNext(t, args)
	for _, s := range servers {
		awaitSale(t, s, second)
	}
	testkit.Until(t, "orders in the second sale", func() bool { return len(buyers.ordersOf(second)) > 30 })
	saleDone(t, args, "close")
	buyers.stop()

	old.HangUp() // its worker may still end
	if _, err := old.Order(cart); !client.IsRefused(err, 404, "CART_NOT_FOUND") {
		t.Errorf("the cart of the first sale is ordered in the second: %v", err)
	}
	for sale, key := range map[string]string{first: "left_" + first, second: "stock_" + second} {
		orders := readExport(t, saleDone(t, args, "export", "-sale", sale))
		for _, id := range buyers.ordersOf(sale) {
			if orders[id] == nil {
				t.Errorf("order %s was answered, and is not in the export", id)
			}
		}
		checkSold(t, redis, sale, key, stock, orders)
	}
	for _, s := range servers {
		if n := s.Logged(t, "Redis has lost the sale"); n > 0 {
			t.Errorf("a planned end of a sale is logged as a loss: %s", testkit.ReadFile(t, s.Log))
		}
		if n := s.Logged(t, "this server has taken over the next sale"); n != 1 {
			t.Errorf("the takeover is logged %d times", n)
		}
	}
}

// checkSold checks that these orders are of the sale, and that the pieces in them and those left under a key
// of Redis make the stock.
func checkSold(t *testing.T, redis *redistest.Server, sale, key string, stock int,
	orders map[string]map[int]int) {
	t.Helper()
	pieces := map[int]int{}
	for id, items := range orders {
		if !strings.HasPrefix(id, sale+"-") {
			t.Errorf("order %s is in the export of sale %s", id, sale)
		}
		for food, count := range items {
			pieces[food] += count
		}
	}
	for food := 1; food <= loadFoods; food++ {
		left, err := launch.AskRedis(redis.Socket, 20*time.Second, "HGET", key, strconv.Itoa(food))
		testkit.Must(t, err)
		if n, err := strconv.Atoi(left); err != nil || n < 0 || n+pieces[food] != stock {
			t.Errorf("sale %s: %q pieces of food %d are left and %d sold, of %d", sale, left, food, pieces[food],
				stock)
		}
	}
}

// A command that is killed at any moment of opening the next sale is completed by a server that starts.
func TestNextSaleAfterKill(t *testing.T) {
	t.Parallel()
	const orders = 20_000
	for i, moment := range []string{"HEXISTS sale next_id", "EXISTS past_", "HEXISTS sale previous"} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			redis := redistest.New(t)
			args := []string{"-redis", redis.Socket, "-users", "30000", "-foods", "2", "-stock", "5", "-workers", "1"}
			s := setup{args: args}.serve(t)
			first := s.Sale(t)
			s.End(t)
			redis.Do(t, fmt.Sprintf(
				`EVAL "for i = 2, %d do redis.call('SET', 'o_' .. i, '1:1,|\\n1') end return 1" 0`, orders+1))
			command := program(t, module, nil, append([]string{"sale", "new", "-force"}, args...)...)
			question := moment
			if strings.HasSuffix(moment, "_") {
				question += first
			}
			testkit.Until(t, moment, func() bool { return redis.Do(t, question) == ":1" })
			testkit.Must(t, command.Signal(syscall.SIGKILL))
			<-command.Ended()
			s = setup{data: s.Data, args: args}.serve(t)
			if s.Sale(t) == first {
				t.Error("the server serves the sale that has ended")
			}
			if n := redis.Do(t, "HLEN past_"+first); n != fmt.Sprintf(":%d", orders) {
				t.Errorf("%s orders are kept, want %d", n, orders)
			}
			if id, err := s.client(t).Buy(2, item(1, 1)); err != nil || id != s.Sale(t)+"-2" {
				t.Errorf("an order in the next sale: %v, %v", id, err)
			}
		})
	}
}

// A server with another catalogue does not take the next sale over; it does once it has that catalogue.
func TestNextSaleOfOtherFoods(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	users := "1,root,r\n2,ann,a\n"
	dir := catalogue(t, users, "1,5,10\n")
	args := []string{"-redis", redis.Socket, "-catalog-dir", dir, "-workers", "1"}
	s := setup{args: args}.serve(t)
	second := openNext(t, []string{"-redis", redis.Socket}, "-force", "-catalog-dir",
		catalogue(t, users, "1,7,20\n2,8,30\n"))
	testkit.Until(t, "refusal of other foods", func() bool { return s.Logged(t, "give it that sale's") > 0 })
	if r, err := s.client(t).Do("GET", "/readyz", ""); err != nil || r.Status != 503 {
		t.Errorf("/readyz between two sales: %v, %v; want 503", r, err)
	}
	testkit.WriteFile(t, filepath.Join(dir, "foods.csv"), "id,stock,price\n1,7,20\n2,8,30\n")
	s.Send(t, syscall.SIGHUP)
	awaitSale(t, s, second)
	c := s.client(t)
	testkit.Must(t, c.Login("ann", "a"))
	testkit.Until(t, "foods of the next sale", func() bool {
		list, err := c.Foods()
		want := []client.Food{{ID: 1, Price: 20, Stock: 7}, {ID: 2, Price: 30, Stock: 8}}
		return err == nil && slices.Equal(list, want)
	})
}

// bench and its audit work in the second sale of a Redis as in the first, also where a server has taken it
// over, and nothing of the first is left that was to be deleted.
func TestBenchInNextSale(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	of := []string{"-users", "300", "-foods", "5", "-stock", "100"}
	args := append([]string{"-redis", redis.Socket}, of...)
	s := setup{args: append([]string{"-workers", "1", "-limits", "off"}, args...)}.serve(t)
	load := func() {
		t.Helper()
		code, out, faults := run(t, module+"/scripts/bench", []string{"ROOT_PASSWORD=" + rootPassword},
			append([]string{"-addr", s.Address, "-orders", "200", "-concurrency", "10"}, of...)...)
		if code != 0 {
			t.Errorf("bench: exit code %d\n%s%s", code, out, faults)
		}
	}
	load()
	first := s.Sale(t)
	saleDone(t, args, "close")
	saleDone(t, args, "export")
	second := openNext(t, args, "-delete")
	awaitSale(t, s, second)
	if n := redis.Do(t, `EVAL "return #redis.call('KEYS', '*_`+first+`')" 0`); n != ":1" {
		t.Errorf("%s keys of the deleted sale are there, want its log", n)
	}
	saleRefused(t, 2, "redis keeps no such sale of the past: "+first, args, "export", "-sale", first)
	load()
	if n := redis.Do(t, `EVAL "return #redis.call('KEYS', 'o_*')" 0`); n == ":0" {
		t.Error("bench has placed no order in the second sale")
	}
}
