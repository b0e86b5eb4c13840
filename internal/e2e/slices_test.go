package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx/redistest"
)

// onSlices runs a test with a sale of three slices: in a cluster, on one Redis, and on two. args names the
// store for servers and commands, name for people.
func onSlices(t *testing.T, test func(t *testing.T, args []string, name string)) {
	t.Helper()
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		c := redistest.Cluster(t, testkit.Need(t, "redis-server"), 3, 0)
		test(t, []string{"-redis-cluster", c.Seeds()}, "Redis Cluster at "+c.Seeds())
	})
	t.Run("one Redis", func(t *testing.T) {
		t.Parallel()
		socket := redistest.New(t).Socket
		test(t, []string{"-redis", socket, "-slices", "3"}, "Redis at "+socket)
	})
	t.Run("two Redis", func(t *testing.T) {
		t.Parallel()
		testkit.Need(t, "redis-server")
		var addresses []string
		for range 2 {
			port := launch.ClosedPort(t)
			redis := launch.NewRedis(testkit.Folder(t), "--bind", "127.0.0.1", "--port", port)
			testkit.Must(t, redis.Start(t.Context()))
			t.Cleanup(redis.Kill)
			addresses = append(addresses, "127.0.0.1:"+port)
		}
		both := strings.Join(addresses, ",")
		test(t, []string{"-redis", both, "-slices", "3"}, "2 Redis at "+both)
	})
}

// A sale of several slices has all calls of the guides with the answers that stand there, in a cluster also
// those of the rooms. Two servers sell it correctly, and commands look at it and open the next one.
func TestSlices(t *testing.T) {
	t.Parallel()
	onSlices(t, func(t *testing.T, store []string, name string) {
		if strings.Contains(name, "Cluster") { // elsewhere rooms see no slices
			checkRooms(t, store)
			saleDone(t, append(slices.Clone(store), "-foods", "1", "-stock", "100", "-users", "3"), "new", "-force")
		}
		checkSaleCalls(t, store, name)
		checkBench(t, store)
	})
}

func checkRooms(t *testing.T, store []string) {
	t.Helper()
	s := setup{
		env: append([]string{"SERVICE_TOKEN=" + serviceSecret, "TOKEN_SECRET=" + sharedSecret}, botEnv...),
		args: slices.Concat(store, botArgs, []string{"-workers", "1", "-users", "3", "-foods", "3",
			"-blocklist", makeList(t), "-limits", "mail by email 3/m; order by user 1/d; " +
				"message by user unlimited; message by ip unlimited"})}.serve(t)
	awaitList(t, s)
	for _, room := range []string{"blocklist", "limits", "repeats", "traffic"} {
		s.compareSession(t, testkit.ReadFile(t, root+"internal/rooms/"+room+"/README.md"))
	}
	s.End(t)
}

func checkSaleCalls(t *testing.T, store []string, name string) {
	t.Helper()
	args := append(slices.Clone(store), "-users", "3", "-foods", "1", "-stock", "100", "-workers", "1")
	s := setup{env: []string{"TOKEN_SECRET=" + sharedSecret}, args: args}.serve(t)
	if got, want := s.Banner(t, "store"), name+", 3 slices; "; !strings.HasPrefix(got, want) {
		t.Errorf("store %q, want %q", got, want)
	}
	buyer := s.client(t)
	_, err := buyer.Buy(2, item(1, 1))
	testkit.Must(t, err)
	s.awaitStock(t, map[int]int{1: 99})
	if mine, err := buyer.Orders(); err != nil || len(mine) != 1 || len(s.orders(t)) != 1 {
		t.Errorf("the orders of user 2 are %v, %v; root sees %v", mine, err, s.orders(t))
	}
	s.compareSaleExamples(t)
	const restock = "/admin/foods/1/stock"
	admin := s.root(t)
	admin.IdempotencyKey = "once"
	for range 2 {
		r, err := admin.Do("POST", restock, `{"add":1}`)
		if err != nil || r.Status != 200 || !strings.Contains(r.Body, `"stock":105`) {
			t.Errorf("restock under a key: %+v, %v", r, err)
		}
	}
	status := saleDone(t, args, "status")
	if !strings.Contains(status, "105 left, 1 sold (6 restocked)") {
		t.Errorf("flashsale sale status:\n%s", status)
	}
	s.End(t)
}

func checkBench(t *testing.T, store []string) {
	t.Helper()
	const users, foods, stock, orders = 500, 20, 100, 300
	args := append(slices.Clone(store), "-users", strconv.Itoa(users), "-foods", strconv.Itoa(foods),
		"-stock", strconv.Itoa(stock), "-workers", "1", "-limits", "off")
	sale := openNext(t, args, "-force")
	var servers []*server
	var addresses []string
	for range 2 {
		s := setup{env: []string{"TOKEN_SECRET=" + sharedSecret}, args: args}.serve(t)
		servers, addresses = append(servers, s), append(addresses, s.Address)
	}
	env := []string{"ROOT_PASSWORD=" + rootPassword}
	if code, out, faults := run(t, module+"/scripts/bench", env, "-addr", strings.Join(addresses, ","),
		"-users", strconv.Itoa(users), "-foods", strconv.Itoa(foods), "-stock", strconv.Itoa(stock),
		"-orders", strconv.Itoa(orders), "-concurrency", "20"); code != 0 {
		t.Errorf("scripts/bench ends with %d: its audit failed: %s\n%s", code, out, faults)
	}
	saleDone(t, args, "pause")
	saleDone(t, args, "close")
	file := filepath.Join(t.TempDir(), "orders.csv")
	saleDone(t, args, "export", "-o", file)
	if n := len(readExport(t, testkit.ReadFile(t, file))); n != orders {
		t.Errorf("%d orders are exported, want %d", n, orders)
	}
	next := openNext(t, args)
	for _, s := range servers {
		awaitSale(t, s, next)
		if n := s.Logged(t, "Redis has lost the sale"); n > 0 {
			t.Error("a planned end of a sale is logged as a loss")
		}
	}
	_, err := servers[0].client(t).Buy(2, item(1, 1))
	testkit.Must(t, err)
	if found := servers[1].orders(t); len(found) != 1 {
		t.Errorf("the orders of the next sale are %v, want one", found)
	}
	if n := len(readExport(t, saleDone(t, args, "export", "-sale", sale))); n != orders {
		t.Errorf("%d orders of the sale before are exported, want %d", n, orders)
	}
	refusedSlices(t, args, next)
}

// refusedSlices checks that neither a server nor a command joins a sale with another number of slices.
func refusedSlices(t *testing.T, args []string, sale string) {
	t.Helper()
	other := append(slices.Clone(args), "-slices", "2")
	want := fmt.Sprintf("sale %s at ", sale)
	code, _, stderr := run(t, module, nil, append(other, "-app-port", "0", "-data", t.TempDir())...)
	if code == 0 || !strings.Contains(stderr, want) ||
		!strings.Contains(stderr, "has 3, -slices (SLICES) is 2") {
		t.Errorf("a server with two slices ends with %d: %s", code, stderr)
	}
	saleRefused(t, 2, want, other, "status")
}
