package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx/redistest"
)

// ownCount is what a load has seen for itself, by the keys of the statistics.
type ownCount struct {
	mu   sync.Mutex
	hits map[string]int
}

func newOwnCount() *ownCount { return &ownCount{hits: map[string]int{}} }

func (y *ownCount) count(key string, n int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.hits[key] += n
}

// call sends a request and counts its answer.
func (y *ownCount) call(t *testing.T, c *client.Client, method, path, pattern, body string) client.Reply {
	r, err := c.Do(method, path, body)
	if err != nil {
		t.Errorf("%s %s: %v", method, path, err)
	}
	y.count(fmt.Sprintf("call:%s %s:%dxx", method, pattern, r.Status/100), 1)
	return r
}

// buy has a user buy pieces of one food, with some calls that are refused on the way.
func (y *ownCount) buy(t *testing.T, address string, user int) {
	c := newClient(t, address)
	defer c.HangUp()
	y.call(t, c, "GET", "/foods", "/foods", "")
	y.call(t, c, "POST", "/login", "/login", client.LoginBody(fmt.Sprint("user", user), "wrong"))
	if err := c.LoginUser(user); err != nil {
		t.Error(err)
	}
	y.count("call:POST /login:2xx", 1)
	y.call(t, c, "GET", "/foods", "/foods", "")
	var cart struct {
		ID string `json:"cart_id"`
	}
	if err := json.Unmarshal([]byte(y.call(t, c, "POST", "/carts", "/carts", "").Body), &cart); err != nil {
		t.Error(err)
	}
	food, pieces := user%loadFoods+1, user%3+1
	path := client.CartPath(cart.ID)
	for _, count := range []int{4, pieces} {
		body := client.JSON(item(food, count))
		if r := y.call(t, c, "PATCH", path, "/carts/:id", body); r.Status == 204 {
			y.count(fmt.Sprintf("food:%d:added", food), count)
		}
	}
	if r := y.call(t, c, "POST", "/orders", "/orders", client.OrderBody(cart.ID)); r.Status == 200 {
		y.count(fmt.Sprintf("food:%d:sold", food), pieces)
	}
}

// buyAll has users buy at once.
func (y *ownCount) buyAll(t *testing.T, address string, first, users int) {
	t.Helper()
	var buying sync.WaitGroup
	for user := first; user < first+users; user++ {
		buying.Go(func() { y.buy(t, address, user) })
	}
	buying.Wait()
}

// totalOf asks a server for the hits of a key in the last day.
func totalOf(t *testing.T, root *client.Client, key string) int {
	t.Helper()
	r, err := root.Do("GET", "/traffic?last=2d&key="+url.QueryEscape(key), "")
	testkit.Must(t, err)
	if r.Status == 404 {
		return 0
	}
	var curve struct{ Total int }
	if err := json.Unmarshal([]byte(r.Body), &curve); err != nil || r.Status != 200 {
		t.Fatalf("%s: %d %s", key, r.Status, r.Body)
	}
	return curve.Total
}

// Three servers count for one Redis. One is killed, Redis is restarted, the others stop: the statistics have
// what the load has counted for itself, but for what the killed one had not flushed. Pieces that were sold
// are all there: they follow from the stock.
func TestTrafficOfThreeServers(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t, "--appendonly", "yes", "--appendfsync", "always")
	env := []string{"TOKEN_SECRET=" + sharedSecret, "REDIS=" + redis.Socket}
	args := append([]string{"-workers", "2", "-limits", "off"}, loadArgs...)
	var servers []*server
	for range 3 {
		servers = append(servers, setup{env: env, args: args}.serve(t))
	}
	sure, lost := newOwnCount(), newOwnCount()
	sure.buyAll(t, servers[2].Address, 2, 20)
	root := servers[0].root(t)
	testkit.Until(t, "flush of the third server", func() bool {
		return totalOf(t, root, "call:POST /orders:2xx") == 20
	})
	lost.buyAll(t, servers[2].Address, 30, 20)
	testkit.Must(t, servers[2].SignalTree(syscall.SIGKILL))
	sure.buyAll(t, servers[0].Address, 60, 30)
	sure.buyAll(t, servers[1].Address, 100, 30)
	redis.Kill(t)
	redis.Restart(t)
	for _, s := range servers[:2] {
		testkit.Must(t, launch.AwaitReady(t.Context(), s.Address))
	}
	sure.buyAll(t, servers[0].Address, 140, 10)
	sure.buyAll(t, servers[1].Address, 150, 10)
	servers[0].End(t)
	servers[1].End(t)

	root = setup{env: env, args: args}.serve(t).root(t)
	keys := maps.Clone(sure.hits)
	maps.Copy(keys, lost.hits)
	for key := range keys {
		least, most := sure.hits[key], sure.hits[key]+lost.hits[key]
		switch {
		case key == "call:POST /login:2xx":
			most += 2 // of root
		case strings.HasSuffix(key, ":sold"):
			least = most
		}
		testkit.Until(t, fmt.Sprintf("%d to %d hits of %s", least, most, key), func() bool {
			return totalOf(t, root, key) >= least
		})
		if n := totalOf(t, root, key); n > most {
			t.Errorf("%s: %d hits, want from %d to %d", key, n, least, most)
		}
	}
}
