package handlers

import (
	"fmt"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/held"
	"flashsale/redisx/redistest"
)

const (
	orderPaid    = `{"code":"ORDER_PAID","message":"订单已支付"}`
	manyReleased = `{"code":"TOO_MANY_RELEASED","message":"已释放的订单过多，不能再下单"}`
)

// onHeld runs a test on both engines, on a sale that holds its orders for an hour.
func onHeld(t *testing.T, test func(t *testing.T, s *shop, orders *held.Orders)) {
	shopHold = time.Hour
	t.Cleanup(func() { shopHold = 0 })
	onEngines(t, func(t *testing.T, open opener) {
		s := open(t, "unix", redistest.Start(t).Socket)
		orders := held.New(s.redis, s.cfg.Sale.ID(), 5)
		testkit.Background(t, orders.Run)
		s.join(Holds(orders))
		testkit.Until(t, "connection for held orders", func() bool {
			_, err := orders.Find(held.ID{User: 2})
			return err == nil
		})
		test(t, s, orders)
	})
}

// looks compares a body, whose times are hidden.
func (s *shop) looks(t *testing.T, user uint32, path string, status int, want string) {
	t.Helper()
	got, body, _ := s.call(t, user, "GET", path, "")
	if body = timeText.ReplaceAllString(body, `"@"`); got != status || body != want {
		t.Errorf("GET %s of user %d:\n got %d %s\nwant %d %s", path, user, got, body, status, want)
	}
}

// A buyer sees how far an order is, gives it back, and orders again under the next number.
func TestHeldOrders(t *testing.T) {
	onHeld(t, func(t *testing.T, s *shop, orders *held.Orders) {
		id := s.cfg.Sale.ID() + "-2"
		placed := func(id string) string { return `{"id":"` + id + `"}` }
		order := func(id, more string) string {
			return fmt.Sprintf(`{"id":"%s","items":[{"food_id":1,"count":1}],"total":%d%s}`, id, s.price(1), more)
		}
		s.expect(t, 2, "POST", "/orders", s.fill(t, 2, 1, 1), 200, placed(id), "Idempotency-Key", "first")
		s.expect(t, 2, "POST", "/orders", s.fill(t, 2, 1, 1), 403, oneOrder)
		const isHeld = `,"placed_at":"@","state":"held","till":"@"`
		s.expect(t, 2, "GET", "/orders", "", 200, "["+order(id, "")+"]")
		s.looks(t, 2, "/orders?details=1", 200, "["+order(id, isHeld)+"]")
		s.looks(t, 2, "/orders/"+id, 200, order(id, isHeld))
		for user, path := range map[uint32]string{3: "/orders/" + id, 2: "/orders/" + id + "-1"} {
			s.expect(t, user, "GET", path, "", 404, noOrder)
			s.expect(t, user, "DELETE", path, "", 404, noOrder)
		}
		for _, path := range []string{"/orders/x", "/orders/" + id + "-0", "/orders/aaaaaaaa-2"} {
			s.expect(t, 2, "GET", path, "", 404, noOrder)
		}

		s.expect(t, 2, "DELETE", "/orders/"+id, "", 204, "")
		s.expect(t, 2, "DELETE", "/orders/"+id, "", 404, noOrder)
		s.expect(t, 2, "GET", "/orders", "", 200, "[]")
		const isReleased = `,"placed_at":"@","state":"released","till":"@","reason":"buyer"`
		s.looks(t, 2, "/orders/"+id, 200, order(id, isReleased))

		// The key of the released order stands for it. Another one places the next.
		s.expect(t, 2, "POST", "/orders", s.fill(t, 2, 1, -1), 200, placed(id), "Idempotency-Key", "first")
		cart := s.fill(t, 2, 1, 1)
		for range 2 {
			s.expect(t, 2, "POST", "/orders", cart, 200, placed(id+"-1"), "Idempotency-Key", "second")
		}
		s.looks(t, 2, "/orders?details=1", 200, "["+order(id+"-1", isHeld)+"]")
		s.looks(t, 2, "/orders/"+id, 200, order(id, isReleased))

		_, err := orders.Paid(held.ID{User: 2, Number: 1},
			held.Receipt{Payment: "p1", Amount: s.price(1), Price: s.price(1),
				Items: []redisx.Item{{Food: 1, Count: 1}}})
		testkit.Must(t, err)
		s.expect(t, 2, "DELETE", "/orders/"+id+"-1", "", 409, orderPaid)
		s.looks(t, 2, "/orders/"+id+"-1", 200,
			order(id+"-1", `,"placed_at":"@","state":"paid","till":"@","payment_id":"p1"`))

		whole := func(id, more string) string {
			return fmt.Sprintf(`{"id":"%s","sale":"%s","user_id":2,"username":"user2","placed_at":"@"%s,"items":`+
				`[{"food_id":1,"name":"Spicy noodles","names":{"en":"Spicy noodles","zh":"香辣拉面"},"count":1,`+
				`"price":%d,"sum":%[4]d}],"total":%[4]d}`, id, s.cfg.Sale.ID(), more, s.price(1))
		}
		s.looks(t, rootUser, "/admin/orders/"+id, 200,
			whole(id, `,"state":"released","till":"@","reason":"buyer"`))
		s.looks(t, rootUser, "/admin/orders/"+id+"-1", 200,
			whole(id+"-1", `,"state":"paid","till":"@","payment_id":"p1"`))
		s.expect(t, rootUser, "GET", "/admin/orders/"+id+"-2", "", 404, noOrder)

		s.expect(t, 3, "POST", "/orders", s.fill(t, 3, 1, 1), 200, placed(s.cfg.Sale.ID()+"-3"))
		of := func(id string, user int, more string) string {
			return fmt.Sprintf(`[{"id":"%s","user_id":%d,"items":[{"food_id":1,"count":1}],"total":%d%s}]`, id, user,
				s.price(1), more)
		}
		s.expect(t, rootUser, "GET", "/admin/orders?state=paid", "", 200, of(id+"-1", 2, ""))
		s.looks(t, rootUser, "/admin/orders?state=held&details=1", 200, of(s.cfg.Sale.ID()+"-3", 3,
			isHeld+`,"username":"user3"`))
		s.expect(t, rootUser, "GET", "/admin/orders?state=paying", "", 200, "[]")
		s.expect(t, rootUser, "GET", "/admin/orders?state=sold", "", 400, badRange)
		found, err := s.cfg.Sale.Snapshot()
		testkit.Must(t, err)
		s.do(func() { s.Publish(found) })
		s.looks(t, 0, "/sale", 200, fmt.Sprintf(`{"id":"%s","state":"open","now":"@","opens_at":null,`+
			`"closes_at":null,"pieces_left":48,"pieces_sold":1,"orders":2,"hold_seconds":3600,"pieces_held":1,`+
			`"next_release_at":"@"}`,
			s.cfg.Sale.ID()))
	})
}

// Who has had 21 orders released may not hold pieces again.
func TestReleasedOrdersOut(t *testing.T) {
	onHeld(t, func(t *testing.T, s *shop, orders *held.Orders) {
		for n := range 21 {
			id := s.cfg.Sale.ID() + "-2"
			if n > 0 {
				id += fmt.Sprintf("-%d", n)
			}
			s.expect(t, 2, "POST", "/orders", s.fill(t, 2, 1, 1), 200, `{"id":"`+id+`"}`)
			s.expect(t, 2, "DELETE", "/orders/"+id, "", 204, "")
		}
		s.expect(t, 2, "POST", "/orders", s.fill(t, 2, 1, 1), 403, manyReleased)
	})
}
