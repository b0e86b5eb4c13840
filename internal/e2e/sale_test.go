package e2e

import (
	"fmt"
	"maps"
	"sync"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/redisx/redistest"
)

// tally counts how orders ended.
type tally struct {
	mu    sync.Mutex
	count map[string]int
}

func (o *tally) add(err error) {
	outcome := "placed"
	if err != nil {
		outcome = err.Error()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.count == nil {
		o.count = map[string]int{}
	}
	o.count[outcome]++
}

func (o *tally) check(t *testing.T, want map[string]int) {
	t.Helper()
	if !maps.Equal(o.count, want) {
		t.Errorf("outcomes %v, want %v", o.count, want)
	}
}

// serveTogether launches servers of one sale at the same moment and waits for all of them.
func serveTogether(t *testing.T, count int, redis *redistest.Server, args ...string) []*server {
	t.Helper()
	var servers []*server
	for range count {
		servers = append(servers, setup{
			env:  []string{"TOKEN_SECRET=" + sharedSecret, "ROOT_PASSWORD=" + rootPassword},
			args: append([]string{"-redis", redis.Socket, "-workers", "1"}, args...),
		}.launch(t))
	}
	for _, s := range servers {
		s.Serves(t)
	}
	return servers
}

// More is asked for than there is, on three servers, in orders of three, two and one pieces.
func TestNothingIsOversold(t *testing.T) {
	t.Parallel()
	const users, stock = 120, 20
	servers := serveTogether(t, 3, redistest.New(t), "-users", fmt.Sprint(users+1), "-foods", "3",
		"-stock", fmt.Sprint(stock))
	var outcomes tally
	var buyers sync.WaitGroup
	for user := 2; user < 2+users; user++ {
		buyers.Go(func() {
			c := servers[user/3%3].client(t)
			defer c.HangUp()
			food := user%3 + 1
			_, err := c.Buy(user, item(food, 4-food))
			outcomes.add(err)
		})
	}
	buyers.Wait()
	// Of each food 20: six orders of three leave two, ten of two and twenty of one leave none.
	outcomes.check(t, map[string]int{"placed": 6 + 10 + 20, "403 FOOD_OUT_OF_STOCK": users - 36})
	sold := map[int]int{}
	for user, o := range servers[0].orders(t) {
		food := user%3 + 1
		if len(o.Items) != 1 || o.Items[0] != (item(food, 4-food)) {
			t.Errorf("user %d ordered %d of food %d and has %v", user, 4-food, food, o.Items)
		}
		sold[food] += 4 - food
	}
	if want := map[int]int{1: 18, 2: 20, 3: 20}; !maps.Equal(sold, want) {
		t.Errorf("sold %v, want %v", sold, want)
	}
	for _, s := range servers {
		s.awaitStock(t, map[int]int{1: 2, 2: 0, 3: 0})
	}
}

// The contest's clients send each step to another server, with the token in the query, on a new connection,
// and {} with the calls that take no body.
func TestContestClients(t *testing.T) {
	t.Parallel()
	servers := serveTogether(t, 3, redistest.New(t), "-users", "10", "-foods", "3", "-stock", "10")
	steps := make([]*client.Client, len(servers))
	for i, s := range servers {
		steps[i] = s.client(t)
		steps[i].TokenInQuery, steps[i].NewConnections, steps[i].EmptyObjects = true, true, true
	}
	testkit.Must(t, steps[0].LoginUser(2))
	steps[1].Token, steps[2].Token = steps[0].Token, steps[0].Token

	var foods []struct{ ID, Price, Stock int }
	testkit.Must(t, steps[1].Call("GET", "/foods", "{}", &foods))
	if len(foods) != 3 || foods[0].Stock != 10 {
		t.Fatalf("foods %v, want three with 10 pieces each", foods)
	}
	cart, err := steps[2].NewCart()
	testkit.Must(t, err)
	for i, add := range []client.Item{item(3, 1), item(1, 1), item(1, 1)} {
		testkit.Must(t, steps[i].Add(cart, add))
	}
	if err := steps[0].Add(cart, item(2, 1)); err == nil || err.Error() != "403 FOOD_OUT_OF_LIMIT" {
		t.Errorf("a fourth piece: %v, want 403 FOOD_OUT_OF_LIMIT", err)
	}
	id, err := steps[1].Order(cart)
	testkit.Must(t, err)
	want := fmt.Sprintf(`[{"id":%q,"items":[{"food_id":3,"count":1},{"food_id":1,"count":2}],"total":%d}]`,
		id, foods[2].Price+2*foods[0].Price)
	for _, c := range steps {
		if r, err := c.Do("GET", "/orders", ""); err != nil || r.Status != 200 || r.Body != want {
			t.Errorf("orders %d %s %v\nwant 200 %s", r.Status, r.Body, err, want)
		}
	}
}
