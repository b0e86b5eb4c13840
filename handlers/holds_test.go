package handlers

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/held"
	"flashsale/redisx/redistest"
	"flashsale/redisx/turnover"
)

const (
	orderPaid    = `{"code":"ORDER_PAID","message":"订单已支付"}`
	saleEnded    = `{"code":"SALE_ENDED","message":"该场次已结束，其订单只能整单取消"}`
	manyReleased = `{"code":"TOO_MANY_RELEASED","message":"已释放的订单过多，不能再下单"}`
)

// What onHeld knows of a sale that has ended.
var (
	pastUsers  bool // they are those of today
	pastPrices []int64
)

// onHeld runs a test on both engines, on a sale that holds its orders for an hour.
func onHeld(t *testing.T, test func(t *testing.T, s *shop, orders *held.Orders)) {
	shopHold = time.Hour
	t.Cleanup(func() { shopHold = 0 })
	onEngines(t, func(t *testing.T, open opener) {
		s := open(t, "unix", redistest.Start(t).Socket)
		orders := held.New(s.redis, s.cfg.Sale.ID(), 5)
		testkit.Background(t, orders.Run)
		s.join(Holds(orders, func(sale string, id held.ID) (PastOrder, error) {
			order, err := orders.Of(sale).FindAfter(id)
			return PastOrder{Order: order, SameUsers: pastUsers, Prices: pastPrices}, err
		}))
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

func raw(t *testing.T, s *shop, words ...string) {
	t.Helper()
	redistest.Command(t, s.redis.Network, s.redis.Address, nil, words...)
}

// After the next sale has begun a buyer still sees an order of the sale before, unless the user may be
// another person now. An operator cancels a paid one, and that makes the money due; its pieces stay sold.
func TestOrdersOfAnEndedSale(t *testing.T) {
	onHeld(t, func(t *testing.T, s *shop, orders *held.Orders) {
		const ended = "aaaaaaaa"
		raw(t, s, "HSET", "past_"+ended, "2", "1:2,|\n1700000000000\npaid 1 3 1700000001000 p1")
		raw(t, s, "HSET", "payments_"+ended, "p1", "2 1 40 paid ")
		raw(t, s, "HSET", "released_"+ended, "2-0", "1:1,|\n1700000000000\nreleased 0 2 1700000001000 -\nbuyer")
		s.join(Corrections(orders))
		pastUsers, pastPrices = true, []int64{20}
		s.do(func() {
			s.cfg.PastSales = func() ([]string, error) { return []string{ended}, nil }
			s.cfg.PastSale = func(sale string) (*PastSale, error) {
				if sale != ended {
					return nil, turnover.ErrNoPastSale
				}
				return &PastSale{Prices: []int64{20}, Holds: true, Close: func() {}}, nil
			}
		})
		const paid = `{"id":"aaaaaaaa-2-1","items":[{"food_id":1,"count":2}],"total":40,"placed_at":"@",` +
			`"state":"paid","till":"@","payment_id":"p1"}`
		s.looks(t, 2, "/orders/aaaaaaaa-2-1", 200, paid)
		s.looks(t, 2, "/orders/aaaaaaaa-2", 200, `{"id":"aaaaaaaa-2","items":[{"food_id":1,"count":1}],`+
			`"total":20,"placed_at":"@","state":"released","till":"@","reason":"buyer"}`)
		s.looks(t, 3, "/orders/aaaaaaaa-2-1", 404, noOrder)
		s.looks(t, 2, "/orders/bbbbbbbb-2-1", 404, noOrder)
		s.expect(t, 2, "DELETE", "/orders/aaaaaaaa-2-1", "", 404, noOrder)
		s.do(func() { pastPrices = nil })
		s.looks(t, 2, "/orders/aaaaaaaa-2-1", 200, strings.Replace(paid, `"total":40,`, "", 1))
		s.do(func() { pastUsers = false })
		s.looks(t, 2, "/orders/aaaaaaaa-2-1", 404, noOrder)

		const shrink = `{"reason":"spoilt","items":[{"food_id":1,"count":1}]}`
		const cancel = `{"reason":"spoilt","state":"cancelled"}`
		const whole = `{"id":"aaaaaaaa-2-1","sale":"aaaaaaaa","user_id":2,"username":"","placed_at":"@",` +
			`"state":"refund_due","till":"@","payment_id":"p1","reason":"spoilt","items":[{"food_id":1,"count":2,` +
			`"price":20,"sum":40}],"total":40`
		s.expect(t, rootUser, "PATCH", "/admin/orders/aaaaaaaa-2-1", shrink, 409, saleEnded)
		for _, id := range []string{"aaaaaaaa-2", "aaaaaaaa-9", "bbbbbbbb-2-1"} {
			s.expect(t, rootUser, "PATCH", "/admin/orders/"+id, cancel, 404, noOrder)
		}
		status, body, _ := s.call(t, rootUser, "PATCH", "/admin/orders/aaaaaaaa-2-1", cancel)
		body = timeText.ReplaceAllString(body, `"@"`)
		if want := whole + `,"refund":{"payment_id":"p1","amount":40}}`; status != 200 || body != want {
			t.Errorf("cancelled:\n got %d %s\nwant 200 %s", status, body, want)
		}
		s.expect(t, rootUser, "PATCH", "/admin/orders/aaaaaaaa-2-1", cancel, 404, noOrder)
		s.looks(t, rootUser, "/admin/orders/aaaaaaaa-2-1", 200, whole+"}")
		s.looks(t, rootUser, "/admin/refunds", 200, `[{"payment_id":"p1","order_id":"aaaaaaaa-2-1","user_id":2,`+
			`"username":"user2","amount":40,"currency":"","since":"@","reason":"spoilt","state":"due"}]`)
		s.expect(t, rootUser, "POST", "/admin/refunds/p1/done", "", 204, "")
		s.looks(t, rootUser, "/admin/refunds", 200, "[]")
	})
}
