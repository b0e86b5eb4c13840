package e2e

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/client"
	"flashsale/internal/polltest"
	"flashsale/internal/stand"
	"flashsale/redisx/redistest"
)

// saleCommand runs flashsale sale and returns its exit code and what it prints.
func saleCommand(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	p := launch(t, module, nil, append([]string{"sale"}, args...)...)
	code = p.ExitCode(t)
	return code, stand.ReadFile(t, p.Stdout), stand.ReadFile(t, p.Log)
}

// saleDone runs flashsale sale, which must succeed, and returns what it prints.
func saleDone(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := saleCommand(t, args...)
	if code != 0 {
		t.Fatalf("flashsale sale %q: exit code %d\n%s%s", args, code, stdout, stderr)
	}
	return stdout
}

// saleRefused runs flashsale sale, which must end with this code and message.
func saleRefused(t *testing.T, code int, want string, args ...string) {
	t.Helper()
	if got, _, stderr := saleCommand(t, args...); got != code || !strings.Contains(stderr, want) {
		t.Errorf("flashsale sale %q: exit code %d, want %d\n got %swant %s", args, got, code, stderr, want)
	}
}

// sold reads an export in CSV: pieces by food, by order id.
func readExport(t *testing.T, text string) map[string]map[int]int {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	stand.Must(t, err)
	orders := map[string]map[int]int{}
	for _, row := range rows[1:] {
		items := map[int]int{}
		for _, item := range strings.Fields(row[3]) {
			var food, count int
			if _, err := fmt.Sscanf(item, "%d=%d", &food, &count); err != nil {
				t.Errorf("row %q: %v", row, err)
			}
			items[food] += count
		}
		if _, twice := orders[row[0]]; twice || len(items) == 0 {
			t.Errorf("row %q: twice %v, items %v", row, twice, items)
		}
		orders[row[0]] = items
	}
	return orders
}

var nextID = regexp.MustCompile(`^sale ([a-z2-7]{8}) is there`)

// openNext opens the next sale and returns its id.
func openNext(t *testing.T, args ...string) string {
	t.Helper()
	found := nextID.FindStringSubmatch(saleDone(t, append([]string{"new"}, args...)...))
	if found == nil {
		t.Fatal("flashsale sale new names no sale")
	}
	return found[1]
}

// awaitSale waits until all workers of a server serve a sale.
func awaitSale(t *testing.T, s *server, sale string) {
	t.Helper()
	c := &client.Client{Address: s.Address, NewConnections: true}
	polltest.Until(t, "sale "+sale+" of "+s.Address, func() bool {
		for range 10 {
			r, err := c.Do("GET", "/readyz", "")
			if err != nil || r.Status != 200 || !strings.Contains(r.Body, `"sale":"`+sale+`"`) {
				return false
			}
		}
		return true
	})
}

// A sale is run from a terminal, with the store of its own server, beside that server and without it.
func TestSaleCommand(t *testing.T) {
	t.Parallel()
	stand.Need(t, "redis-server")
	args := []string{"-workers", "1", "-users", "20", "-foods", "3", "-stock", "5"}
	s := setup{args: args}.serve(t)
	of := append([]string{"-data", s.Data}, args...)
	run := func(verb string, more ...string) []string { return append(append([]string{verb}, of...), more...) }
	first := s.Sale(t)
	c := s.client(t)
	_, err := c.Buy(2, item(1, 2), item(3, 1))
	stand.Must(t, err)

	if status := saleDone(t, run("status")...); !strings.HasPrefix(status, "sale "+first+": open\n") ||
		!strings.Contains(status, "\n  pieces     12 left, 3 sold (0 restocked)\n  orders     1\n") {
		t.Errorf("status\n%s", status)
	}
	if out := saleDone(t, run("pause")...); !strings.HasPrefix(out, "sale "+first+": paused\n") {
		t.Errorf("pause prints %s", out)
	}
	if _, err := c.Buy(3, item(1, 1)); !client.IsRefused(err, 403, "SALE_PAUSED") {
		t.Errorf("an order while the sale is paused: %v", err)
	}
	saleDone(t, run("open")...)
	saleRefused(t, 1, "-at must be a time to come", run("open", "-at", "2020-01-01T00:00:00Z")...)
	saleRefused(t, 1, "the sale is not closed; run flashsale sale close, then export, or add -force", run("new")...)
	saleRefused(t, 2, "redis holds another sale", run("close", "-sale", "aaaaaaaa")...)
	saleRefused(t, 2, "redis holds a sale of other foods", run("status", "-foods", "4")...)
	saleRefused(t, 2, "say status, open, pause, close, export or new", "begin")
	saleDone(t, run("close")...)
	saleRefused(t, 1, "run flashsale sale export -o FILE, or add -force", run("new")...)

	s.End(t)
	file := filepath.Join(t.TempDir(), "orders.csv")
	saleDone(t, run("export", "-o", file)...)
	csv := regexp.MustCompile(`^order_id,user_id,user_name,items,total,placed_at\r\n` + first +
		`-2,2,user2,1=2 3=1,\d+,\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\r\n$`)
	if text := stand.ReadFile(t, file); !csv.MatchString(text) {
		t.Errorf("the export is %q", text)
	}
	var line struct {
		ID       string
		User     int `json:"user_id"`
		Username string
		Total    int
	}
	stand.Must(t, json.Unmarshal([]byte(saleDone(t, run("export", "-format", "jsonl")...)), &line))
	if line.ID != first+"-2" || line.User != 2 || line.Username != "user2" || line.Total == 0 {
		t.Errorf("the export as JSON is %+v", line)
	}
	second := openNext(t, of...)
	if kept := saleDone(t, run("export", "-sale", first)...); !csv.MatchString(kept) {
		t.Errorf("the export of the sale before is %q", kept)
	}
	s = setup{data: s.Data, args: args}.serve(t)
	if s.Sale(t) != second {
		t.Errorf("the server joins sale %s, want %s", s.Sale(t), second)
	}
	if r, err := s.client(t).Buy(2, item(1, 1)); err != nil || r != second+"-2" {
		t.Errorf("an order of the same user in the next sale: %v, %v", r, err)
	}
}

// Servers that run take the next sale over under load. Each sale has all that was answered, sold no piece twice,
// and no cart of the one is ordered in the other.
func TestNextSaleIsTakenOver(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	const users, foods, stock = 400, 5, 100
	args := []string{"-redis", redis.Socket, "-users", fmt.Sprint(users), "-foods", fmt.Sprint(foods), "-stock",
		fmt.Sprint(stock), "-workers", "1", "-limits", "off"}
	env := []string{"TOKEN_SECRET=" + sharedSecret}
	var servers []*server
	for range 3 {
		servers = append(servers, setup{env: env, args: args}.serve(t))
	}
	run := func(verb string, more ...string) []string { return append(append([]string{verb}, args...), more...) }
	first := servers[0].Sale(t)
	old := servers[0].client(t)
	stand.Must(t, old.LoginUser(users))
	cart, err := old.NewCart()
	stand.Must(t, err)
	stand.Must(t, old.Add(cart, item(1, 1)))

	var mu sync.Mutex
	answered := map[string]bool{} // orders that were answered 200
	ending, buying := make(chan struct{}), sync.WaitGroup{}
	for i := range 9 {
		buying.Go(func() {
			c := &client.Client{Address: servers[i%3].Address}
			defer c.HangUp()
			for user := 2 + i; ; user += 9 {
				select {
				case <-ending:
					return
				default:
				}
				if user >= users {
					user = 2 + i
				}
				id, err := c.Buy(user, item(1+user%foods, 1+user%3))
				if err == nil {
					mu.Lock()
					answered[id] = true
					mu.Unlock()
				} else {
					c.HangUp()
				}
			}
		})
	}
	placed := func(sale string) (n int) {
		mu.Lock()
		defer mu.Unlock()
		for id := range answered {
			if strings.HasPrefix(id, sale+"-") {
				n++
			}
		}
		return n
	}
	polltest.Until(t, "orders in the first sale", func() bool { return placed(first) > 30 })
	saleDone(t, run("close")...)
	saleDone(t, run("export", "-o", filepath.Join(t.TempDir(), "orders.csv"))...)
	second := openNext(t, args...)
	for _, s := range servers {
		awaitSale(t, s, second)
	}
	polltest.Until(t, "orders in the second sale", func() bool { return placed(second) > 30 })
	saleDone(t, run("close")...)
	close(ending)
	buying.Wait()

	old.HangUp() // its worker may still end
	if _, err := old.Order(cart); !client.IsRefused(err, 404, "CART_NOT_FOUND") {
		t.Errorf("the cart of the first sale is ordered in the second: %v", err)
	}
	for _, sale := range []string{first, second} {
		orders := readExport(t, saleDone(t, run("export", "-sale", sale)...))
		pieces := map[int]int{}
		for id, items := range orders {
			if !strings.HasPrefix(id, sale+"-") {
				t.Errorf("order %s is in the export of sale %s", id, sale)
			}
			for food, count := range items {
				pieces[food] += count
			}
		}
		for id := range answered {
			if strings.HasPrefix(id, sale) && orders[id] == nil {
				t.Errorf("order %s was answered, and is not in the export", id)
			}
		}
		key := map[bool]string{true: "left_", false: "stock_"}[sale == first] + sale
		for food := 1; food <= foods; food++ {
			left, err := stand.AskRedis(redis.Socket, 20*time.Second, "HGET", key, strconv.Itoa(food))
			stand.Must(t, err)
			if n, err := strconv.Atoi(left); err != nil || n < 0 || n+pieces[food] != stock {
				t.Errorf("sale %s: %q pieces of food %d are left and %d sold, of %d", sale, left, food, pieces[food],
					stock)
			}
		}
	}
	for _, s := range servers {
		if n := s.Logged(t, "Redis has lost the sale"); n > 0 {
			t.Errorf("a planned end of a sale is logged as a loss: %s", stand.ReadFile(t, s.Log))
		}
		if n := s.Logged(t, "this server has taken over the next sale"); n != 1 {
			t.Errorf("the takeover is logged %d times", n)
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
				`EVAL "for i = 2, %d do redis.call('SET', 'o_' .. i, '1:1,|') end return 1" 0`, orders+1))
			command := launch(t, module, nil, append([]string{"sale", "new", "-force"}, args...)...)
			question := moment
			if strings.HasSuffix(moment, "_") {
				question += first
			}
			polltest.Until(t, moment, func() bool { return redis.Do(t, question) == ":1" })
			stand.Must(t, command.Signal(syscall.SIGKILL))
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
	second := openNext(t, "-redis", redis.Socket, "-catalog-dir", catalogue(t, users, "1,7,20\n2,8,30\n"), "-force")
	polltest.Until(t, "refusal of other foods", func() bool { return s.Logged(t, "give it that sale's") > 0 })
	if r, err := s.client(t).Do("GET", "/readyz", ""); err != nil || r.Status != 503 {
		t.Errorf("/readyz between two sales: %v, %v; want 503", r, err)
	}
	stand.WriteFile(t, filepath.Join(dir, "foods.csv"), "id,stock,price\n1,7,20\n2,8,30\n")
	s.Send(t, syscall.SIGHUP)
	awaitSale(t, s, second)
	c := s.client(t)
	stand.Must(t, c.Login("ann", "a"))
	polltest.Until(t, "foods of the next sale", func() bool {
		list, err := c.Foods()
		return err == nil && slices.Equal(list, []client.Food{{ID: 1, Price: 20, Stock: 7}, {ID: 2, Price: 30, Stock: 8}})
	})
}
