package e2e

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
)

// The sale that a load buys from.
const (
	loadUsers = 20_000
	loadFoods = 10
	loadStock = 100_000
	loadPace  = 20 * time.Millisecond // from one order of a client to its next: light, and users last
)

var loadArgs = []string{"-users", fmt.Sprint(loadUsers), "-foods", fmt.Sprint(loadFoods),
	"-stock", fmt.Sprint(loadStock)}

// basket lists the pieces that a user buys under load. They follow from the user, so that every order found
// can be checked.
func basket(user int) []client.Item {
	return []client.Item{item(user%loadFoods+1, user%2+1), item((user+3)%loadFoods+1, 1)}
}

// load is clients that order one after another, each order for another user, until it is stopped.
type load struct {
	next    atomic.Int64 // the user who bought last
	quit    chan struct{}
	clients sync.WaitGroup

	mu     sync.Mutex
	placed map[int]string  // user -> order that was answered 200
	failed map[int][]error // client -> what went wrong
}

// startLoad starts clients of the server, every second one with a new connection for each request if
// mixed.
func startLoad(t *testing.T, s *server, clients int, mixed bool) *load {
	return startLoadOn(t, []*server{s}, clients, mixed)
}

// startLoadOn is startLoad for several servers of a sale.
func startLoadOn(t *testing.T, servers []*server, clients int, mixed bool) *load {
	l := &load{quit: make(chan struct{}), placed: map[int]string{}, failed: map[int][]error{}}
	l.next.Store(1) // root does not buy
	for i := range clients {
		c := servers[i%len(servers)].client(t)
		c.NewConnections = mixed && i%2 == 1
		l.clients.Go(func() { l.run(i, c) })
	}
	t.Cleanup(l.stop)
	l.awaitOrders(t, clients)
	return l
}

func (l *load) run(number int, c *client.Client) {
	defer c.HangUp()
	pace := time.NewTicker(loadPace)
	defer pace.Stop()
	for user := int(l.next.Add(1)); user <= loadUsers; user = int(l.next.Add(1)) {
		id, err := c.Buy(user, basket(user)...)
		l.mu.Lock()
		if err == nil {
			l.placed[user] = id
		} else {
			c.HangUp() // its worker may serve another sale now
			l.failed[number] = append(l.failed[number], fmt.Errorf("user %d: %w", user, err))
		}
		l.mu.Unlock()
		select {
		case <-pace.C:
		case <-l.quit:
			return
		}
	}
}

// stop ends the load; once is enough.
func (l *load) stop() {
	l.mu.Lock()
	select {
	case <-l.quit:
	default:
		close(l.quit)
	}
	l.mu.Unlock()
	l.clients.Wait()
}

// awaitOrders waits for more orders from now on.
func (l *load) awaitOrders(t *testing.T, more int) {
	t.Helper()
	count := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.placed)
	}
	want := count() + more
	testkit.Until(t, fmt.Sprintf("%d more orders", more), func() bool { return count() >= want })
}

// ordersOf are the orders of a sale that were answered 200.
func (l *load) ordersOf(sale string) (ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range l.placed {
		if strings.HasPrefix(id, sale+"-") {
			ids = append(ids, id)
		}
	}
	return ids
}

// audit stops the load and proves that each order answered 200 exists, that each order has the pieces that
// its user asked for, and that stock and sold pieces make the initial stock with what was added.
func (l *load) audit(t *testing.T, s *server, added ...client.Item) {
	t.Helper()
	l.stop()
	orders := s.orders(t)
	for user, id := range l.placed {
		if orders[user].ID != id {
			t.Errorf("order %s of user %d was answered 200 and is not there", id, user)
		}
	}
	left := map[int]int{}
	for food := range loadFoods {
		left[food+1] = loadStock
	}
	for _, i := range added {
		left[i.Food] += i.Count
	}
	for user, o := range orders {
		if !slices.Equal(o.Items, basket(user)) {
			t.Errorf("user %d ordered %v and has %v", user, basket(user), o.Items)
		}
		for _, i := range o.Items {
			left[i.Food] -= i.Count
		}
	}
	s.awaitStock(t, left)
}

// checkFailures stops the load and fails the test for each failure but the allowed ones.
func (l *load) checkFailures(t *testing.T, allowed ...client.Refusal) {
	t.Helper()
	l.stop()
	for number, errs := range l.failed {
		for _, err := range errs {
			var refusal client.Refusal
			if !errors.As(err, &refusal) || !slices.Contains(allowed, refusal) {
				t.Errorf("client %d, %v", number, err)
			}
		}
	}
}
