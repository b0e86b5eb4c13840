package redisx

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Each line: state before, call, outcome, state after.
func TestOrderScript(t *testing.T) {
	const user, keep = 2, "*"
	for _, tc := range []struct {
		name                         string
		order, cart, key             string // before; key of the call
		stock                        int64
		want                         error
		wantOrder, wantCart, wantTTL string // after; "" is no key
		wantStock                    string
	}{
		{"placed", "", "1:2,", "", 5, nil, "1:2,", "", "-1", "3"},
		{"placed, with spaces", "", "1:2,    ", "", 5, nil, "1:2,    ", "", "-1", "3"},
		{"placed with key", "", "1:1,", "a b|c", 5, nil, "1:1,|a b|c", "", "-1", "4"},
		{"last pieces", "", "1:3,", "", 3, nil, "1:3,", "", "-1", "0"},
		{"one food in two changes", "", "1:1,1:1,", "", 5, nil, "1:2,", "", "-1", "3"},
		{"one food in three changes", "", "1:1,1:1,1:1,", "", 5, nil, "1:3,", "", "-1", "2"},
		{"a food taken away", "", "2:1,1:1,2:-1,", "", 5, nil, "1:1,", "", "-1", "4"},
		{"a change without effect", "", "1:2,2:2,1:1,", "", 5, nil, "1:3,", "", "-1", "2"},
		{"zero counts are left out", "", "2:0,1:1,", "", 5, nil, "1:1,", "", "-1", "4"},
		{"has order", "1:1,", "1:2,", "", 5, ErrHasOrder, "1:1,", "1:2,", "-1", "5"},
		{"has order, no cart", "1:1,", "", "", 5, ErrHasOrder, "1:1,", "", "-1", "5"},
		{"has order, key never sent", "1:1,", "1:2,", "k", 5, ErrHasOrder, "1:1,", "1:2,", "-1", "5"},
		{"has order under another key", "1:1,|k1", "1:2,", "k", 5, ErrHasOrder, "1:1,|k1", "1:2,", "-1", "5"},
		{"has order under this key", "1:1,|k", "1:2,", "k", 5, nil, "1:1,|k", "1:2,", "-1", "5"},
		{"has order under this key with bars", "1:1,|k||1:1,", "", "k||1:1,", 5, nil,
			"1:1,|k||1:1,", "", "-1", "5"},
		{"no cart", "", "", "", 5, ErrCartEmpty, "", "", "-2", "5"},
		{"only zero counts", "", "1:0,2:0,", "", 5, ErrCartEmpty, "", "1:0,2:0,", "-2", "5"},
		{"everything taken away", "", "1:1,1:-1,", "", 5, ErrCartEmpty, "", "1:1,1:-1,", "-2", "5"},
		{"out of stock", "", "1:3,", "", 2, ErrOutOfStock, "", "1:3,", "-2", "2"},
		{"second food out of stock", "", "1:1,2:1,", "", 5, ErrOutOfStock, "", "1:1,2:1,", "-2", "5"},
		{"third food out of stock", "", "1:1,3:1,2:1,", "", 5, ErrOutOfStock, "", "1:1,3:1,2:1,", "-2", "5"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, cfg Config) {
				s := open(t, cfg, tc.stock, 0, 7)
				orderKey, cartKey := "o_2", "c_"+string(cartName(user))
				if tc.order != "" {
					raw(t, cfg, nil, "SET", orderKey, tc.order)
				}
				if tc.cart != "" {
					raw(t, cfg, nil, "SET", cartKey, tc.cart, "EX", "100")
				}
				if err := s.placeOrder(user, cartName(user), []byte(tc.key)); !errors.Is(err, tc.want) {
					t.Errorf("outcome %v, want %v", err, tc.want)
				}
				for key, want := range map[string]string{orderKey: tc.wantOrder, cartKey: tc.wantCart} {
					if got := rawString(t, cfg, "GET", key); got != want {
						t.Errorf("%s = %q, want %q", key, got, want)
					}
				}
				if got := rawString(t, cfg, "TTL", orderKey); got != tc.wantTTL {
					t.Errorf("TTL of the order %s, want %s", got, tc.wantTTL)
				}
				if got := rawString(t, cfg, "HGET", s.stockKey, "1"); got != tc.wantStock {
					t.Errorf("stock %s, want %s", got, tc.wantStock)
				}
				for food, want := range map[string]string{"2": "0", "3": "7"} {
					if got := rawString(t, cfg, "HGET", s.stockKey, food); got != want {
						t.Errorf("stock of food %s is %s, want %s", food, got, want)
					}
				}
			})
		})
	}
}

// A cart that may hold more foods than order.lua takes is not sold in part.
func TestOrderScriptRefusesManyFoods(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		id := open(t, cfg, 9, 9, 9, 9, 9).ID()
		s := runSale(t, cfg, func() *Sale { return join(cfg, id, 5, usersMax, 5) })
		for food := range int64(5) {
			if err := s.addToCart(2, cartName(1), food+1, 1); err != nil {
				t.Fatal(err)
			}
		}
		err := s.placeOrder(2, cartName(1), nil)
		const want = "cannot place order of user 2: its cart holds more foods than order.lua takes"
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
		if stock, err := s.Stock(); err != nil || !slices.Equal(stock, []int64{9, 9, 9, 9, 9}) {
			t.Errorf("stock %v, %v; want all of it", stock, err)
		}
		for food := range int64(2) {
			if err := s.addToCart(2, cartName(1), food+1, -1); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.placeOrder(2, cartName(1), nil); err != nil {
			t.Errorf("an order of three foods: %v", err)
		}
	})
}

// Many users and more pieces wanted than there are: each piece is sold once, to the last one.
func TestNeverOversell(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		const users, stock = 300, 100
		s := open(t, cfg, stock, stock)
		var sold [2]atomic.Int64
		var wg sync.WaitGroup
		for i := range users {
			wg.Go(func() {
				user, food := uint32(i+2), int64(i%2+1)
				for _, err := range []error{
					s.addToCart(user, cartName(i), food, 1),
					s.addToCart(user, cartName(i), food, 1),
				} {
					if err != nil {
						t.Error(err)
					}
				}
				switch err := s.placeOrder(user, cartName(i), nil); {
				case err == nil:
					sold[i%2].Add(2)
				case !errors.Is(err, ErrOutOfStock):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if a, b := sold[0].Load(), sold[1].Load(); a != stock || b != stock {
			t.Errorf("sold %d and %d pieces, want %d of each", a, b, stock)
		}
		if left, err := s.Stock(); err != nil || !slices.Equal(left, []int64{0, 0}) {
			t.Errorf("stock %v, %v; want none", left, err)
		}
	})
}

func TestOneOrderPerUser(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		const tries = cartsFree + cartsFollowed // carts that the user may have at once
		s := open(t, cfg, 1000)
		for i := range tries {
			if err := s.addToCart(2, cartName(i), 1, 1); err != nil {
				t.Fatal(err)
			}
		}
		var placed atomic.Int64
		var wg sync.WaitGroup
		for i := range tries {
			wg.Go(func() {
				switch err := s.placeOrder(2, cartName(i), nil); {
				case err == nil:
					placed.Add(1)
				case !errors.Is(err, ErrHasOrder):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if placed.Load() != 1 {
			t.Errorf("%d orders of one user, want 1", placed.Load())
		}
		if left, err := s.Stock(); err != nil || left[0] != 999 {
			t.Errorf("stock %v, %v; want 999", left, err)
		}
	})
}

func TestOrderRead(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 9, 9, 9)
		if items, err := s.Order(2); err != nil || len(items) != 0 {
			t.Errorf("before: %v, %v; want none", items, err)
		}
		for _, food := range []int64{3, 1, 3} {
			if err := s.addToCart(2, cartName(2), food, 1); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.placeOrder(2, cartName(2), []byte("key 1:1,|2:2,")); err != nil {
			t.Fatal(err)
		}
		want := []Item{{3, 2}, {1, 1}}
		if items, err := s.Order(2); err != nil || !slices.Equal(items, want) {
			t.Errorf("after: %v, %v; want %v", items, err, want)
		}
		// A placed order never changes, whatever is sent for its cart.
		if err := s.addToCart(2, cartName(2), 2, 3); err != nil {
			t.Fatal(err)
		}
		if err := s.placeOrder(2, cartName(2), nil); !errors.Is(err, ErrHasOrder) {
			t.Errorf("second order: %v, want ErrHasOrder", err)
		}
		if items, err := s.Order(2); err != nil || !slices.Equal(items, want) {
			t.Errorf("after an add: %v, %v; want %v", items, err, want)
		}
	})
}

func TestScanOrders(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		const orders = 3000
		s := open(t, cfg, 9)
		args := []string{"MSET", "o_not_ours", "x", "c_0000000000000000", "1:1,"}
		for i := range orders {
			args = append(args, fmt.Sprintf("o_%d", i+1), fmt.Sprintf("1:%d,|key", i%3+1))
		}
		raw(t, cfg, nil, args...)
		got := map[uint32]int64{}
		for scan := s.ScanOrders(); ; {
			page, err := scan.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, order := range page {
				if _, twice := got[order.User]; twice {
					t.Errorf("order of user %d twice", order.User)
				}
				got[order.User] = order.Items[0].Count
			}
		}
		if len(got) != orders {
			t.Fatalf("%d orders, want %d", len(got), orders)
		}
		for user, count := range got {
			if count != int64(user-1)%3+1 {
				t.Errorf("user %d has %d pieces, want %d", user, count, (user-1)%3+1)
			}
		}
	})
}

func TestParseItemsRefuses(t *testing.T) {
	for _, value := range []string{"", ",", "1,", "1:,", ":1,", "1:4,", "1:-1,", "1:0,", "0:1,", "a:1,",
		"1:1", "1:1,,", "1:1;2:2,", "|key", "1:1|,", "10:1,"} {
		if items, err := parseItems([]byte(value), 9); err == nil {
			t.Errorf("%q is read as %v", value, items)
		} else if !strings.Contains(err.Error(), "want food:count,food:count,") {
			t.Errorf("%q: error %v", value, err)
		}
	}
}

func FuzzParseItems(f *testing.F) {
	f.Add([]byte("1:2,  3:1,|key"))
	f.Fuzz(func(t *testing.T, value []byte) {
		items, err := parseItems(value, 9)
		for _, item := range items {
			if err != nil || item.Food < 1 || item.Count < 1 || item.Count > CartMax {
				t.Errorf("%q is read as %v, %v", value, items, err)
			}
		}
	})
}
