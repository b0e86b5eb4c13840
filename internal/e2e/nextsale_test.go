package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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

// A data folder that cannot be written does not look like a takeover that has failed: the sale is served.
func TestNextSaleIsServedBesideAFullDisk(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	args := []string{"-redis", redis.Socket, "-workers", "1"}
	folder := t.TempDir()
	s := setup{data: folder, args: args}.serve(t)
	name := filepath.Join(folder, "sale")
	testkit.Must(t, os.Remove(name))
	testkit.Must(t, os.MkdirAll(filepath.Join(name, "in the way"), 0o700))
	next := openNext(t, args, "-force")
	awaitSale(t, s, next)
	testkit.Until(t, "the takeover is logged", func() bool {
		return s.Logged(t, "this server has taken over the next sale") == 1
	})
	if n := s.Logged(t, `level=ERROR msg="the data folder still names the sale before" sale=`+next); n != 1 {
		t.Errorf("%d errors of the folder, want 1", n)
	}
	if n := s.Logged(t, "cannot take over the next sale"); n != 0 {
		t.Errorf("the takeover fails %d times: %s", n, testkit.ReadFile(t, s.Log))
	}
}

// The next sale opens only after an export with every order, and without the opening and closing time of the
// sale before. A server with other users does not serve it: it would take one user's token for another's.
func TestNextSaleIsGuarded(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	const users, swapped, foods = "1,root,r\n2,ann,a\n3,bob,b\n", "1,root,r\n2,bob,b\n3,ann,a\n", "1,5,10\n"
	dir := catalogue(t, users, foods)
	args := []string{"-redis", redis.Socket, "-catalog-dir", dir, "-workers", "1"}
	s := setup{args: args}.serve(t)
	first := s.Sale(t)
	for _, name := range []string{"ann", "bob"} {
		c := s.client(t)
		testkit.Must(t, c.Login(name, name[:1]))
		cart, err := c.Fill(item(1, 1))
		testkit.Must(t, err)
		_, err = c.Order(cart)
		testkit.Must(t, err)
	}
	saleDone(t, args, "close")

	redis.Do(t, "RENAME o_3 away")
	saleRefused(t, 1, "2 pieces sold, 1 in the export: it does not count for the next sale", args, "export")
	saleRefused(t, 1, "run flashsale sale export -o FILE, or add -force", args, "new")
	redis.Do(t, "RENAME away o_3")
	saleDone(t, args, "export")

	file := filepath.Join(dir, "users.csv")
	testkit.WriteFile(t, file, "id,name,password\n"+swapped)
	saleRefused(t, 1, "name a later -closes-at, or none", args, "new", "-closes-at", "2020-01-02T00:00:00Z")
	code, out, faults := run(t, module, []string{"OPENS_AT=2020-01-01T00:00:00Z",
		"CLOSES_AT=2020-01-02T00:00:00Z"}, append([]string{"sale", "new"}, args...)...)
	found := nextID.FindStringSubmatch(out)
	if code != 0 || found == nil || !strings.Contains(out, "\n  state      open\n") ||
		!strings.Contains(out, "\n  opens at   none\n  closes at  none\n") {
		t.Fatalf("flashsale sale new: exit code %d, %s%s", code, out, faults)
	}
	text := saleDone(t, args, "export", "-sale", first)
	if !strings.Contains(text, first+"-2,2,,1=1,1=10,10,") {
		t.Errorf("an export with names of other users: %s", text)
	}
	testkit.Until(t, "refusal of other users", func() bool {
		return s.Logged(t, "a user has another name than before: user 2 ") > 0
	})
	c := s.client(t)
	c.NewConnections = true
	if r, err := c.Do("GET", "/readyz", ""); err != nil || r.Status != 503 {
		t.Errorf("/readyz of a server with other users: %v, %v; want 503", r, err)
	}

	testkit.WriteFile(t, file, "id,name,password\n"+users)
	s.Send(t, syscall.SIGHUP)
	awaitSale(t, s, found[1])
	text = saleDone(t, args, "export", "-sale", first)
	if !strings.Contains(text, first+"-2,2,ann,1=1,1=10,10,") {
		t.Errorf("an export with the users of the sale: %s", text)
	}
}
