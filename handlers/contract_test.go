package handlers

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/tokens"
)

// The error bodies of the contract, to the letter.
const (
	invalidToken = `{"code":"INVALID_ACCESS_TOKEN","message":"无效的令牌"}`
	notAllowed   = `{"code":"NOT_ALLOWED","message":"无权执行此操作"}`
	empty        = `{"code":"EMPTY_REQUEST","message":"请求体为空"}`
	malformed    = `{"code":"MALFORMED_JSON","message":"格式错误"}`
	authFail     = `{"code":"USER_AUTH_FAIL","message":"用户名或密码错误"}`
	noCart       = `{"code":"CART_NOT_FOUND","message":"篮子不存在"}`
	notYours     = `{"code":"NOT_AUTHORIZED_TO_ACCESS_CART","message":"无权限访问指定的篮子"}`
	noFood       = `{"code":"FOOD_NOT_FOUND","message":"食物不存在"}`
	overLimit    = `{"code":"FOOD_OUT_OF_LIMIT","message":"篮子中食物数量超过了三个"}`
	cartEmpty    = `{"code":"CART_EMPTY","message":"篮子为空"}`
	outOfStock   = `{"code":"FOOD_OUT_OF_STOCK","message":"食物库存不足"}`
	oneOrder     = `{"code":"ORDER_OUT_OF_LIMIT","message":"每个用户只能下一单"}`
	unavailable  = `{"code":"SERVICE_UNAVAILABLE","message":"服务繁忙"}`
)

// Bodies that no call which takes one accepts, with what it answers.
func badBodies(good string) map[string]string {
	return map[string]string{
		"":                    empty,
		" ":                   malformed,
		"{}":                  malformed,
		"[]":                  malformed,
		"null":                malformed,
		"1":                   malformed,
		`"x"`:                 malformed,
		"{":                   malformed,
		good + "x":            malformed,
		good + "{}":           malformed,
		"[" + good + "]":      malformed,
		strings.ToUpper(good): malformed, // names are case-sensitive
	}
}

// strictBodies are badBodies for a call that refuses the fields that it does not know.
func strictBodies(good string, known ...string) map[string]string {
	bad := badBodies(good)
	first, _, _ := strings.Cut(good[len(`{"`):], `"`)
	delete(bad, strings.ToUpper(good))
	bad[strings.Replace(good, first, strings.ToUpper(first), 1)] = unknownTo(strings.ToUpper(first), known...)
	bad[`{"close_at":{"id":1},`+good[1:]] = unknownTo("close_at", known...)
	bad[good[:len(good)-1]+`,"\u0063lose_at":null}`] = unknownTo("close_at", known...)
	return bad
}

// unknownTo is the refusal of a field, by a call that knows others.
func unknownTo(name string, known ...string) string {
	return `{"code":"UNKNOWN_FIELD","message":"未知字段：` + name + `；可用字段：` + strings.Join(known, "、") + `"}`
}

func TestLogin(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		for body, want := range badBodies(`{"username":"user2","password":"pass2"}`) {
			s.expect(t, 0, "POST", "/login", body, 400, want)
		}
		for _, body := range []string{
			`{"username":"user2"}`, `{"password":"pass2"}`,
			`{"username":2,"password":"pass2"}`, `{"username":"user2","password":null}`,
			`{"username":["user2"],"password":"pass2"}`, `{"username":"user2","password":true}`,
		} {
			s.expect(t, 0, "POST", "/login", body, 400, malformed)
		}
		for _, body := range []string{
			`{"username":"user2","password":"pass3"}`, `{"username":"nobody","password":"pass2"}`,
			`{"username":"","password":""}`,
			`{"username":"user2","password":"` + strings.Repeat("x", 900) + `"}`,
		} {
			s.expect(t, 0, "POST", "/login", body, 403, authFail)
		}
		logins := map[string]bool{} // also those of one second differ
		for _, body := range []string{
			`{"username":"user2","password":"pass2"}`,
			" {\n\t\"password\" : \"pass2\" ,\r\n \"username\":\"user2\" } ",
			`{"username":"user3","x":[{"y":null}],"username":"user2","password":"pass2"}`,
			`{"username":7,"username":"user2","password":"pass2"}`,
			`{"\u0075sername":"\u0075ser2","password":"pass2"}`,
		} {
			status, got, _ := s.call(t, 0, "POST", "/login", body)
			token := strings.TrimSuffix(strings.TrimPrefix(got,
				`{"user_id":2,"username":"user2","access_token":"`), `"}`)
			user, _, _, ok := s.keys.Access([]byte(token), time.Now())
			if status != 200 || !ok || user != 2 || logins[token] {
				t.Errorf("%s: %d %s", body, status, got)
			}
			logins[token] = true
		}
	})
}

func TestToken(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		other, err := tokens.New("aaaaaaaa", bytes.Repeat([]byte("o"), tokens.SecretMin))
		testkit.Must(t, err)
		now := time.Now()
		bad := map[string]string{
			"none": "", "id": "2", "name": "user2", "password": "pass2",
			"garbage":      strings.Repeat("A", tokens.Length),
			"expired":      string(s.keys.AppendAccess(nil, 2, 1, now.Add(-time.Second))),
			"other secret": string(other.AppendAccess(nil, 2, 1, now.Add(time.Hour))),
			"cart":         s.cartOf(2), "cut": s.token(2)[1:], "extended": s.token(2) + "A",
		}
		calls := []struct{ method, path, body string }{
			{"GET", "/foods", ""}, {"POST", "/carts", ""}, {"PATCH", "/carts/-1", ""},
			{"PATCH", "/carts/" + s.cartOf(2), "{"},
			{"POST", "/orders", ""}, {"GET", "/orders", ""}, {"GET", "/admin/orders", ""},
		}
		for name, token := range bad {
			for _, c := range calls { // the token is checked first
				t.Run(name+c.path, func(t *testing.T) {
					s.expect(t, 0, c.method, c.path, c.body, 401, invalidToken, "Access-Token", token)
					s.expect(t, 0, c.method, c.path+"?access_token="+token, c.body, 401, invalidToken)
				})
			}
		}
		// Either one valid is enough.
		for _, tc := range []struct{ query, header string }{
			{s.token(3), ""}, {"", s.token(3)}, {s.token(3), "x"}, {bad["expired"], s.token(3)},
			{s.token(3), s.token(4)},
		} {
			path := "/orders"
			if tc.query != "" {
				path += "?access_token=" + tc.query
			}
			s.expect(t, 0, "GET", path, "", 200, "[]", "access-token", tc.header)
		}
	})
}

const foodList = `[{"id":1,"price":%d,"stock":10},` +
	`{"id":2,"price":%d,"stock":10},{"id":3,"price":%d,"stock":10},` +
	`{"id":4,"price":%d,"stock":10},{"id":5,"price":%d,"stock":10}]`

func (s *shop) price(food int64) int64 { return s.cfg.Catalog.Foods()[food-1].Price }

func TestFoods(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		want := fmt.Sprintf(foodList, s.price(1), s.price(2), s.price(3), s.price(4), s.price(5))
		s.expect(t, 2, "GET", "/foods", "", 200, want)
		s.expect(t, 3, "GET", "/foods", "{}", 200, want)
		s.Publish(snapshotOf([]int64{10, 0, 10, 10, 9}))
		want = strings.Replace(want, `"stock":10},{"id":3`, `"stock":0},{"id":3`, 1)
		want = strings.Replace(want, `"stock":10}]`, `"stock":9}]`, 1)
		s.expect(t, 2, "GET", "/foods", "", 200, want)
		s.expect(t, 20, "GET", "/foods", "", 200, want)
	})
}

func TestCreateCart(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		seen := map[string]bool{}
		for _, body := range []string{"", "{}", "garbage"} {
			status, got, _ := s.call(t, 2, "POST", "/carts", body)
			id := strings.TrimSuffix(strings.TrimPrefix(got, `{"cart_id":"`), `"}`)
			if user, _, ok := s.keys.Cart([]byte(id)); status != 200 || !ok || user != 2 || seen[id] {
				t.Errorf("POST /carts %s: %d %s", body, status, got)
			}
			seen[id] = true
		}
	})
}

func TestAddToCart(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		cart := "/carts/" + s.cartOf(2)
		for body, want := range badBodies(`{"food_id":1,"count":1}`) {
			s.expect(t, 2, "PATCH", cart, body, 400, want)
			s.expect(t, 2, "PATCH", "/carts/-1", body, 400, want) // the body is checked before the cart
		}
		for _, body := range []string{
			`{"food_id":1}`, `{"count":1}`, `{"food_id":"1","count":1}`, `{"food_id":1,"count":"1"}`,
			`{"food_id":null,"count":1}`,
			`{"food_id":1,"count":1.0}`, `{"food_id":1,"count":1e0}`, `{"food_id":01,"count":1}`,
			`{"food_id":+1,"count":1}`,
			`{"food_id":9223372036854775808,"count":1}`, `{"food_id":1,"count":-9223372036854775809}`,
			`{"food_id":1,"count":[1]}`,
		} {
			s.expect(t, 2, "PATCH", cart, body, 400, malformed)
		}
		one := `{"food_id":1,"count":1}`
		for _, id := range []string{"-1", "1", "garbage", s.cartOf(2)[1:], s.cartOf(2) + "A", s.token(2),
			strings.ToLower(s.cartOf(2)), "%00", "a%2fb"} {
			s.expect(t, 2, "PATCH", "/carts/"+id, one, 404, noCart)
		}
		s.expect(t, 2, "PATCH", "/carts/"+s.cartOf(3), one, 401, notYours)
		// before the food
		s.expect(t, 2, "PATCH", "/carts/"+s.cartOf(3), `{"food_id":99,"count":9}`, 401, notYours)
		for _, food := range []string{"0", "-1", "6", "9223372036854775807", "-9223372036854775808"} {
			s.expect(t, 2, "PATCH", cart, `{"food_id":`+food+`,"count":9}`, 404, noFood) // before the limit
		}
		for _, step := range []struct {
			food, count int64
			refused     bool
		}{
			{1, 4, true}, {1, math.MaxInt64, true}, {1, 0, false}, {2, -1, false},
			{2, math.MinInt64, false},
			{3, 1, false}, {1, 2, false}, {5, 1, true}, {1, 1, true}, {5, 0, false},
			{3, -5, false}, {5, 1, false}, {3, 1, true}, {1, -1, false}, {3, 1, false},
		} {
			body, status, want := fmt.Sprintf(`{"food_id":%d,"count":%d}`, step.food, step.count), 204, ""
			if step.refused {
				status, want = 403, overLimit
			}
			h := s.expect(t, 2, "PATCH", cart, body, status, want)
			if _, found := h["Content-Type"]; status == 204 && found {
				t.Error("a reply without a body has a Content-Type")
			}
		}
		// Listed in the order of first add; food 3 went and came back to its place; food 2 was never added.
		s.expect(t, 2, "POST", "/orders", `{"cart_id":"`+s.cartOf(2)+`"}`, 200,
			`{"id":"`+s.cfg.Sale.ID()+`-2"}`)
		s.expect(t, 2, "GET", "/orders", "", 200, fmt.Sprintf(
			`[{"id":"%s-2","items":[{"food_id":3,"count":1},{"food_id":1,"count":1},`+
				`{"food_id":5,"count":1}],"total":%d}]`,
			s.cfg.Sale.ID(), s.price(3)+s.price(1)+s.price(5)))
	})
}

// A list that is too long for the event loop is the same list.
func TestLongListOfFoods(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		long := []byte("[" + strings.Repeat(" ", 2*listBytesMax) + "]")
		s.foods.Store(&foodLists{plain: long})
		for range 3 { // over one connection, before and behind calls of the loop
			s.expect(t, 2, "GET", "/foods", "", 200, string(long))
			s.expect(t, 2, "PATCH", "/carts/x", `{"food_id":1,"count":1}`, 404, noCart)
		}
	})
}
