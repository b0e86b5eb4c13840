package redisx

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"flashsale/internal/testkit"
)

// cart is the plain form of what a cart holds: what AddToCart and the scripts must agree with.
type cart struct {
	foods  []int64 // in the order of first add
	counts map[int64]int64
}

func (c *cart) add(food, count int64) error {
	total := int64(0)
	for _, n := range c.counts {
		total += n
	}
	had, named := c.counts[food]
	has := max(had+max(count, -CartMax), 0)
	if count > CartMax || total-had+has > CartMax {
		return ErrOverLimit
	}
	if !named && has > 0 {
		c.foods = append(c.foods, food)
	}
	if named || has > 0 {
		c.counts[food] = has
	}
	return nil
}

func (c *cart) items() (items []Item) {
	for _, food := range c.foods {
		if c.counts[food] > 0 {
			items = append(items, Item{food, c.counts[food]})
		}
	}
	return items
}

// Random changes of many carts have the outcomes of the plain form, and the orders its items.
func TestAddToCart(t *testing.T) {
	counts := []int64{1, 1, 1, 2, 3, -1, -1, -2, 0, 4, math.MaxInt64, math.MinInt64}
	onEach(t, func(t *testing.T, cfg Config) {
		for _, foods := range []int{3, 12, 1000} { // ids of one digit and of several
			raw(t, cfg, nil, "FLUSHALL")
			stock := slices.Repeat([]int64{1000}, foods)
			s := open(t, cfg, stock...)
			for i := range 40 {
				seed := uint64(foods*1000 + i)
				random := rand.New(rand.NewPCG(seed, 0))
				user, want := uint32(i+2), cart{counts: map[int64]int64{}}
				for range random.IntN(1 + i*3) {
					food, count := 1+random.Int64N(min(int64(foods), 20)), counts[random.IntN(len(counts))]
					if got, want := s.addToCart(user, cartName(i), food, count), want.add(food, count); got != want {
						t.Fatalf("seed %d: %d of food %d: %v, want %v", seed, count, food, got, want)
					}
				}
				var wantErr error
				if len(want.items()) == 0 {
					wantErr = ErrCartEmpty
				}
				if err := s.placeOrder(user, cartName(i), nil); err != wantErr {
					t.Fatalf("seed %d: order: %v, want %v", seed, err, wantErr)
				}
				order, err := s.Order(user)
				if err != nil || !slices.Equal(order.Items, want.items()) {
					t.Fatalf("seed %d: items %v, %v; want %v", seed, order.Items, err, want.items())
				}
				for _, item := range order.Items {
					stock[item.Food-1] -= item.Count
				}
			}
			if left, err := s.stock(); err != nil || !slices.Equal(left, stock) {
				t.Errorf("stock %v, %v; want %v", left, err, stock)
			}
		}
	})
}

// Many adds of one piece at once, by several servers: three are accepted, and those three are in the order.
func TestAddToCartAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		servers := openServers(t, cfg, 3, slices.Repeat([]int64{9}, 60)...)
		var mu sync.Mutex
		var accepted []Item
		var wg sync.WaitGroup
		for i := range 60 {
			wg.Go(func() {
				food := int64(i + 1)
				switch err := servers[i%3].addToCart(2, cartName(1), food, 1); {
				case err == nil:
					mu.Lock()
					accepted = append(accepted, Item{food, 1})
					mu.Unlock()
				case !errors.Is(err, ErrOverLimit):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		testkit.Must(t, servers[0].placeOrder(2, cartName(1), nil))
		order, err := servers[0].Order(2)
		byFood := func(a, b Item) int { return int(a.Food - b.Food) }
		slices.SortFunc(order.Items, byFood)
		slices.SortFunc(accepted, byFood)
		if err != nil || len(order.Items) != CartMax || !slices.Equal(order.Items, accepted) {
			t.Errorf("items %v, %v; accepted were %v", order.Items, err, accepted)
		}
	})
}

// openServers opens a sale that several servers serve.
func openServers(tb testing.TB, cfg Config, servers int, stock ...int64) (sales []*Sale) {
	tb.Helper()
	sales = []*Sale{open(tb, cfg, stock...)}
	for len(sales) < servers {
		sales = append(sales, joinSale(tb, cfg, sales[0].ID(), len(stock)))
	}
	return sales
}

// cartBytes is the length of all that a cart holds in Redis.
func cartBytes(tb testing.TB, cfg Config, key string) (n int) {
	tb.Helper()
	if rawString(tb, cfg, "TYPE", key) != "hash" {
		return len(rawString(tb, cfg, "GET", key))
	}
	var fields []string
	raw(tb, cfg, &fields, "HGETALL", key)
	return len(strings.Join(fields, ""))
}

// A cart gets its lifetime soon after its first piece, and keeps it. It does not grow with the changes and
// foods that went through it.
func TestCartStaysShort(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		const foods = 200
		s := open(t, cfg, slices.Repeat([]int64{9}, foods)...)
		key := "c_" + string(cartName(1))
		checkLifetime := func(most int) {
			t.Helper()
			testkit.Wants(t, "behind all that was sent", s.orderNothing(), ErrCartEmpty)
			var left int
			if raw(t, cfg, &left, "TTL", key); left > most || left < most/2 {
				t.Errorf("lifetime %d s, want %d", left, most)
			}
		}
		testkit.Must(t, s.addToCart(1, cartName(1), 1, 1))
		checkLifetime(3600)
		raw(t, cfg, nil, "EXPIRE", key, "1000")
		longest := 0
		for i := range 2 * foods {
			for _, count := range []int64{2, -1, 3, -1} {
				food := int64(i%foods + 1)
				if err := s.addToCart(1, cartName(1), food, count); err != nil && !errors.Is(err, ErrOverLimit) {
					t.Fatal(err)
				}
			}
			longest = max(longest, cartBytes(t, cfg, key))
		}
		if longest > 400 {
			t.Errorf("the cart had %d bytes", longest)
		}
		checkLifetime(1000)
	})
}

// A change and an order of the same cart at the same moment have the outcome of one before the other.
func TestChangeRacesOrder(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		users := 500
		if testkit.Race { // each takes eight calls to Redis
			users = 100
		}
		pieces := int64(3 * users)
		servers := openServers(t, cfg, 2, pieces, pieces)
		for i := range users {
			user := uint32(i + 2)
			for _, count := range []int64{2, 1, -1} { // so that the length of the list shows nothing
				testkit.Must(t, servers[0].addToCart(user, cartName(i), 1, count))
			}
			raw(t, cfg, nil, "DEL", "c_"+string(cartName(i)))
			raw(t, cfg, nil, "SET", "c_"+string(cartName(i)), "1:2,1:1,1:-1,") // as a list, not settled yet
			count := []int64{1, 2}[i%2]
			var adding, ordering error
			var wg sync.WaitGroup
			wg.Go(func() { adding = servers[0].addToCart(user, cartName(i), 2, count) })
			wg.Go(func() { ordering = servers[1].placeOrder(user, cartName(i), nil) })
			wg.Wait()
			order, err := servers[0].Order(user)
			if err != nil || ordering != nil {
				t.Fatal(err, ordering)
			}
			with, without := []Item{{1, 2}, {2, 1}}, []Item{{1, 2}}
			switch {
			case adding == nil && (count == 1 && slices.Equal(order.Items, with) ||
				slices.Equal(order.Items, without)):
			case errors.Is(adding, ErrOverLimit) && count == 2 && slices.Equal(order.Items, without):
			default:
				t.Fatalf("adding %d: %v, ordered %v: no order of the two explains it", count, adding,
					order.Items)
			}
		}
	})
}

// A cart does not grow with the connections that change it at once.
func TestCartStaysShortUnderAttack(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		const attackers, tries = 64, 20
		servers := openServers(t, cfg, 3, 9, 9)
		key := "c_" + string(cartName(1))
		var wg sync.WaitGroup
		for i := range attackers {
			wg.Go(func() {
				for n := range tries {
					count := []int64{3, 1, -1}[(i+n)%3]
					err := servers[i%3].addToCart(2, cartName(1), 1+int64(n%2), count)
					if err != nil && !errors.Is(err, ErrOverLimit) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		// The first list, with one change of each server too many, and the items.
		most := len("changesitems") + (3+3)*len("1:3,        ") + len("1:3,2:3,")
		if n := cartBytes(t, cfg, key); n > most {
			t.Errorf("the cart has %d bytes, want at most %d", n, most)
		}
		for food := range int64(2) {
			if err := servers[0].addToCart(2, cartName(1), food+1, -3); err != nil {
				t.Error(err)
			}
		}
		testkit.Wants(t, "everything is taken away", servers[0].placeOrder(2, cartName(1), nil), ErrCartEmpty)
	})
}

// What one user holds in Redis is bounded, and others lose nothing.
func TestCartsOfOneUser(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		const carts = 200
		s := open(t, cfg, 9, 9)
		testkit.Must(t, s.addToCart(3, []byte("of another user."), 1, 1))
		for i := range carts {
			testkit.Must(t, s.addToCart(2, cartName(i), 1, 1))
		}
		if err := s.orderNothing(); !errors.Is(err, ErrCartEmpty) { // behind all that was sent
			t.Fatal(err)
		}
		var keys []string
		raw(t, cfg, &keys, "KEYS", "c_*")
		if len(keys) != cartsFree+cartsFollowed+1 {
			t.Errorf("%d carts are left, want %d of the one user and 1 of the other",
				len(keys), cartsFree+cartsFollowed)
		}
		testkit.Wants(t, "an order of the last cart", s.placeOrder(2, cartName(carts-1), nil), nil)
		testkit.Wants(t, "an order of the other user", s.placeOrder(3, []byte("of another user."), nil), nil)
	})
}
