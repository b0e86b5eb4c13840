package handlers

import (
	"fmt"
	"testing"
)

// fill puts pieces of a food into the user's cart and returns the body that orders it.
func (s *shop) fill(tb testing.TB, user uint32, food, count int) string {
	tb.Helper()
	s.expect(tb, user, "PATCH", "/carts/"+s.cartOf(user),
		fmt.Sprintf(`{"food_id":%d,"count":%d}`, food, count), 204, "")
	return `{"cart_id":"` + s.cartOf(user) + `"}`
}

func TestPlaceOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		id := func(user int) string { return fmt.Sprintf(`{"id":"%s-%d"}`, s.cfg.Sale.ID(), user) }
		for body, want := range badBodies(`{"cart_id":"x"}`) {
			s.expect(t, 2, "POST", "/orders", body, 400, want)
		}
		for _, body := range []string{`{"cart_id":1}`, `{"cart_id":null}`, `{"cart":"x"}`,
			`{"cart_id":{}}`} {
			s.expect(t, 2, "POST", "/orders", body, 400, malformed)
		}
		for _, cart := range []string{"", "-1", "garbage", s.cartOf(2)[1:]} {
			s.expect(t, 2, "POST", "/orders", `{"cart_id":"`+cart+`"}`, 404, noCart)
		}
		others := s.fill(t, 3, 1, 1)
		s.expect(t, 2, "POST", "/orders", others, 401, notYours)
		mine := `{"cart_id":"` + s.cartOf(2) + `"}`
		s.expect(t, 2, "POST", "/orders", mine, 403, cartEmpty)
		s.fill(t, 2, 1, 2)
		s.expect(t, 2, "POST", "/orders", mine, 200, id(2))
		s.expect(t, 2, "POST", "/orders", mine, 403, oneOrder)
		// before an empty cart
		s.expect(t, 2, "POST", "/orders", `{"cart_id":"`+string(s.keys.AppendCart(nil, 2, 999))+`"}`, 403,
			oneOrder)
		// a placed order never changes
		s.fill(t, 2, 2, 3)
		s.expect(t, 2, "POST", "/orders", mine, 403, oneOrder)
		s.expect(t, 2, "GET", "/orders", "", 200,
			fmt.Sprintf(`[{"id":"%s-2","items":[{"food_id":1,"count":2}],"total":%d}]`, s.cfg.Sale.ID(),
				2*s.price(1)))

		// 10 pieces of food 1, 2 are sold: three users take 3, 3 and 2; the next one finds none and may
		// change the cart.
		for user, count := range map[int]int{4: 3, 5: 3, 6: 2} {
			s.expect(t, uint32(user), "POST", "/orders", s.fill(t, uint32(user), 1, count), 200, id(user))
		}
		body := s.fill(t, 7, 1, 1)
		s.fill(t, 7, 2, 1)
		s.expect(t, 7, "POST", "/orders", body, 403, outOfStock)
		s.expect(t, 7, "GET", "/orders", "", 200, "[]")
		s.fill(t, 7, 1, -1)
		s.expect(t, 7, "POST", "/orders", body, 200, id(7))
	})
}

func TestAllOrders(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.expect(t, 2, "GET", "/admin/orders", "", 401, invalidToken)
		s.expect(t, 1, "GET", "/admin/orders", "", 200, "[]")
		s.expect(t, 2, "POST", "/orders", s.fill(t, 2, 3, 2), 200, `{"id":"`+s.cfg.Sale.ID()+`-2"}`)
		first := fmt.Sprintf(`{"id":"%s-2","user_id":2,"items":[{"food_id":3,"count":2}],"total":%d}`,
			s.cfg.Sale.ID(), 2*s.price(3))
		s.expect(t, 1, "GET", "/admin/orders", "", 200, "["+first+"]")
		s.expect(t, 1, "POST", "/orders", s.fill(t, 1, 1, 1), 200, `{"id":"`+s.cfg.Sale.ID()+`-1"}`)
		second := fmt.Sprintf(`{"id":"%s-1","user_id":1,"items":[{"food_id":1,"count":1}],"total":%d}`,
			s.cfg.Sale.ID(), s.price(1))
		status, got, _ := s.call(t, 1, "GET", "/admin/orders", "")
		if status != 200 || got != "["+first+","+second+"]" && got != "["+second+","+first+"]" {
			t.Errorf("%d %s", status, got)
		}
	})
}

// With details a refusal names the foods that lack pieces; without them, and for other refusals, it has the
// body of the contest.
func TestRefusalNamesFoods(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.expect(t, 1, "POST", "/admin/foods/1/stock", `{"add":-8}`, 200,
			fmt.Sprintf(`{"id":1,"price":%d,"stock":2}`, s.price(1)))
		body := s.fill(t, 2, 1, 3)
		want := outOfStock[:len(outOfStock)-1] + `,"details":[{"food_id":1,"count":3,"stock":2}]}`
		s.expect(t, 2, "POST", "/orders?details=1", body, 403, want)
		s.expect(t, 2, "POST", "/orders?details=1&access_token="+s.token(2), body, 403, want)
		s.expect(t, 2, "POST", "/orders?details=0", body, 403, outOfStock)
		s.expect(t, 2, "POST", "/orders", body, 403, outOfStock)
		s.expect(t, 3, "POST", "/orders?details=1", `{"cart_id":"`+s.cartOf(3)+`"}`, 403, cartEmpty)
		s.fill(t, 2, 1, -1)
		s.expect(t, 2, "POST", "/orders?details=1", body, 200, `{"id":"`+s.cfg.Sale.ID()+`-2"}`)
	})
}
