package redisx

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
)

// A cart that may hold more foods than order.lua takes is not sold in part.
func TestOrderScriptRefusesManyFoods(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		id := open(t, cfg, 9, 9, 9, 9, 9).ID()
		s := runSale(t, cfg, func() *Sale { return join(cfg, id, 5, usersMax, 5) })
		for food := range int64(5) {
			testkit.Must(t, s.addToCart(2, cartName(1), food+1, 1))
		}
		err := s.placeOrder(2, cartName(1), nil)
		const want = "cannot place order of user 2: its cart holds more foods than order.lua takes"
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
		if stock, err := s.stock(); err != nil || !slices.Equal(stock, []int64{9, 9, 9, 9, 9}) {
			t.Errorf("stock %v, %v; want all of it", stock, err)
		}
		for food := range int64(2) {
			testkit.Must(t, s.addToCart(2, cartName(1), food+1, -1))
		}
		testkit.Wants(t, "an order of three foods", s.placeOrder(2, cartName(1), nil), nil)
	})
}

func TestOrderRead(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 9, 9, 9)
		if order, err := s.Order(2); err != nil || len(order.Items) != 0 || !order.Placed.IsZero() {
			t.Errorf("before: %v, %v; want none", order, err)
		}
		for _, food := range []int64{3, 1, 3} {
			testkit.Must(t, s.addToCart(2, cartName(2), food, 1))
		}
		testkit.Must(t, s.placeOrder(2, cartName(2), []byte("key 1:1,|2:2,")))
		want := []Item{{3, 2}, {1, 1}}
		order, err := s.Order(2)
		if err != nil || !slices.Equal(order.Items, want) || order.User != 2 {
			t.Errorf("after: %v, %v; want %v", order, err, want)
		}
		if age := time.Since(order.Placed); age < -time.Second || age > time.Minute {
			t.Errorf("placed %v ago", age)
		}
		// A placed order never changes, whatever is sent for its cart.
		testkit.Must(t, s.addToCart(2, cartName(2), 2, 3))
		testkit.Wants(t, "second order", s.placeOrder(2, cartName(2), nil), ErrHasOrder)
		if again, err := s.Order(2); err != nil || !slices.Equal(again.Items, want) ||
			!again.Placed.Equal(order.Placed) {
			t.Errorf("after an add: %v, %v; want %v", again, err, order)
		}
	})
}

func TestScanOrders(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		const orders = 3000
		s := open(t, cfg, 9)
		args := []string{"MSET", "o_not_ours", "x", "c_0000000000000000", "1:1,"}
		for i := range orders {
			args = append(args, fmt.Sprintf("o_%d", i+1), fmt.Sprintf("1:%d,|key\n1", i%3+1))
		}
		raw(t, cfg, nil, args...)
		got := map[uint32]int64{}
		for scan := s.ScanOrders(); ; {
			page, err := scan.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			testkit.Must(t, err)
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

func TestParseOrderRefuses(t *testing.T) {
	for _, value := range []string{"", ",", "1,", "1:,", ":1,", "1:4,", "1:-1,", "1:0,", "0:1,", "a:1,",
		"1:1", "1:1,,", "1:1;2:2,", "|key", "1:1|,", "10:1,"} {
		if order, err := ParseOrder(1, []byte(value), 9); err == nil {
			t.Errorf("%q is read as %v", value, order)
		} else if !strings.Contains(err.Error(), "want food:count,food:count,") {
			t.Errorf("%q: error %v", value, err)
		}
	}
}

func TestParseOrder(t *testing.T) {
	at := time.UnixMilli(1700000000123).UTC()
	for _, value := range []string{"1:2,|\n1700000000123", "1:2, |k|\n1700000000123"} {
		order, err := ParseOrder(7, []byte(value), 9)
		if err != nil || order.User != 7 || !slices.Equal(order.Items, []Item{{1, 2}}) || order.Placed != at {
			t.Errorf("%q is read as %v, %v", value, order, err)
		}
	}
	for value, placed := range map[string]string{"1:2,|k\nx": "x", "1:2,|k": "", "1:2,": ""} {
		want := fmt.Sprintf("cannot read when the order was placed: strconv.ParseInt: parsing %q: "+
			"invalid syntax", placed)
		if _, err := ParseOrder(7, []byte(value), 9); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %s", value, err, want)
		}
	}
}

func FuzzParseOrder(f *testing.F) {
	f.Add([]byte("1:2,  3:1,|key"))
	f.Add([]byte("1:2,|key\n1700000000123"))
	f.Add([]byte("1:2,|key\n1700000000123\nheld 1 1 1700000000123 -"))
	f.Add([]byte("1:2,|key\n1700000000123\nheld 1"))
	f.Add([]byte("1:2,|\xfe\xfe\xfe\xfe\xfe\xfe\xfe\xfe\xfe\xfe\xfe\xfe\xfe\n170000000\x00"))
	f.Fuzz(func(t *testing.T, value []byte) {
		order, err := ParseOrder(1, value, 9)
		for _, item := range order.Items {
			if err != nil || item.Food < 1 || item.Count < 1 || item.Count > CartMax {
				t.Errorf("%q is read as %v, %v", value, order, err)
			}
		}
	})
}

func TestParseOrderID(t *testing.T) {
	for _, id := range []string{"abcdefgh-1", "abcdefgh-4294967295-19"} {
		sale, user, before, ok := ParseOrderID(id)
		if !ok || string(AppendOrderID(nil, sale, user, before)) != id {
			t.Errorf("%s is %s, %d, %d, %t", id, sale, user, before, ok)
		}
	}
	const sale = "abcdefg7"
	for _, id := range []string{"", sale, sale + "-", sale + "-01", sale + "-+1", sale + "-1-", sale + "-1-0",
		sale + "-1--1", sale + "-1-01", sale + "-1-2-3", sale + "-4294967296",
		"-12", "order-12", "INV-2026", "sub-1-2", "Abcdefgh-1", "abcdefg1-1", "abcdefgé-1", "abcdefghi-1"} {
		if _, _, _, ok := ParseOrderID(id); ok {
			t.Errorf("%q is an order id", id)
		}
	}
}
