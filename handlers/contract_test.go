package handlers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"

	"flashsale/internal/catalog"
	"flashsale/redisx"
	"flashsale/redisx/redistest"
	"flashsale/tokens"
)

var secret = bytes.Repeat([]byte("s"), tokens.SecretMin)

// shop is a Server behind an in-memory listener, with a Redis.
type shop struct {
	*Server
	keys   *tokens.Keys
	client *http.Client
	redis  redisx.Config
	l      *fasthttputil.InmemoryListener
}

// onEach runs a test on a real redis-server and on the in-memory engine.
func onEach(t *testing.T, test func(t *testing.T, s *shop)) {
	t.Run("redis-server", func(t *testing.T) { test(t, open(t, "unix", redistest.Start(t).Socket)) })
	t.Run("memory", func(t *testing.T) { test(t, open(t, "tcp", redistest.Memory(t))) })
}

// open opens a sale of 5 foods with 10 pieces each for 20 users and serves it until the test ends.
func open(tb testing.TB, network, address string) *shop {
	tb.Helper()
	users, err := catalog.Load(tb.Context(), catalog.Config{Users: 20, Foods: 5, Stock: 10, RootPassword: "toor"})
	if err != nil {
		tb.Fatal(err)
	}
	keys, err := tokens.New(secret)
	if err != nil {
		tb.Fatal(err)
	}
	cfg := redisx.Config{Network: network, Address: address, Connections: 1, Timeout: 20 * time.Second, CartTTL: time.Hour}
	stock := []int64{10, 10, 10, 10, 10}
	id, _, err := redisx.Open(tb.Context(), cfg, redisx.Opening{Catalog: users.Fingerprint(), Stock: stock})
	if err != nil {
		tb.Fatal(err)
	}
	sale := redisx.Join(cfg, id, len(stock))
	s := &shop{keys: keys, redis: cfg, l: fasthttputil.NewInmemoryListener(),
		Server: New(Config{Catalog: users, Keys: keys, Sale: sale, TokenTTL: time.Hour})}
	s.client = &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return s.l.Dial() }}}
	s.PublishStock(stock)

	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { sale.Run(ctx) })
	for limit := time.Now().Add(10 * time.Second); sale.Check() != nil; {
		if time.Now().After(limit) {
			tb.Fatal("the sale does not answer")
		}
	}
	running.Go(func() {
		if err := s.Serve(s.l); err != nil {
			tb.Error(err)
		}
	})
	tb.Cleanup(func() {
		s.client.CloseIdleConnections()
		if err := s.Drain(context.Background(), context.Background(), s.l); err != nil && !errors.Is(err, fasthttputil.ErrInmemoryListenerClosed) {
			tb.Error(err)
		}
		cancel()
		running.Wait()
	})
	return s
}

func (s *shop) token(user uint32) string {
	return string(s.keys.AppendAccess(nil, user, time.Now().Add(time.Hour)))
}

func (s *shop) cartOf(user uint32) string { return string(s.keys.AppendCart(nil, user, uint64(user))) }

// call sends a request with the user's token (0: none) and returns status and body.
func (s *shop) call(tb testing.TB, user uint32, method, path, body string, header ...string) (int, string, http.Header) {
	tb.Helper()
	r, err := http.NewRequest(method, "http://shop"+path, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	if user != 0 {
		r.Header.Set("Access-Token", s.token(user))
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	reply, err := s.client.Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return reply.StatusCode, string(text), reply.Header
}

func (s *shop) expect(tb testing.TB, user uint32, method, path, body string, status int, want string, header ...string) http.Header {
	tb.Helper()
	gotStatus, got, h := s.call(tb, user, method, path, body, header...)
	if gotStatus != status || got != want {
		tb.Errorf("%s %s %s (user %d):\n got %d %s\nwant %d %s", method, path, body, user, gotStatus, got, status, want)
	}
	if want != "" && h.Get("Content-Type") != "application/json" {
		tb.Errorf("%s %s: Content-Type %q", method, path, h.Get("Content-Type"))
	}
	return h
}

// The error bodies of the contract, to the letter.
const (
	invalidToken = `{"code":"INVALID_ACCESS_TOKEN","message":"无效的令牌"}`
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

func TestLogin(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
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
			`{"username":"","password":""}`, `{"username":"user2","password":"` + strings.Repeat("x", 10_000) + `"}`,
		} {
			s.expect(t, 0, "POST", "/login", body, 403, authFail)
		}
		for _, body := range []string{
			`{"username":"user2","password":"pass2"}`,
			" {\n\t\"password\" : \"pass2\" ,\r\n \"username\":\"user2\" } ",
			`{"username":"user3","x":[{"y":null}],"username":"user2","password":"pass2"}`,
			`{"username":7,"username":"user2","password":"pass2"}`,
			`{"\u0075sername":"\u0075ser2","password":"pass2"}`,
		} {
			status, got, _ := s.call(t, 0, "POST", "/login", body)
			token := strings.TrimSuffix(strings.TrimPrefix(got, `{"user_id":2,"username":"user2","access_token":"`), `"}`)
			if user, ok := s.keys.Access([]byte(token), time.Now()); status != 200 || !ok || user != 2 {
				t.Errorf("%s: %d %s", body, status, got)
			}
		}
	})
}

func TestToken(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		other, err := tokens.New(bytes.Repeat([]byte("o"), tokens.SecretMin))
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		bad := map[string]string{
			"none": "", "id": "2", "name": "user2", "password": "pass2", "garbage": strings.Repeat("A", tokens.Length),
			"expired":      string(s.keys.AppendAccess(nil, 2, now.Add(-time.Second))),
			"other secret": string(other.AppendAccess(nil, 2, now.Add(time.Hour))),
			"cart":         s.cartOf(2), "cut": s.token(2)[1:], "extended": s.token(2) + "A",
		}
		calls := []struct{ method, path, body string }{
			{"GET", "/foods", ""}, {"POST", "/carts", ""}, {"PATCH", "/carts/-1", ""}, {"PATCH", "/carts/" + s.cartOf(2), "{"},
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
			{s.token(3), ""}, {"", s.token(3)}, {s.token(3), "x"}, {bad["expired"], s.token(3)}, {s.token(3), s.token(4)},
		} {
			path := "/orders"
			if tc.query != "" {
				path += "?access_token=" + tc.query
			}
			s.expect(t, 0, "GET", path, "", 200, "[]", "access-token", tc.header)
		}
	})
}

const foodList = `[{"id":1,"price":%d,"stock":10},{"id":2,"price":%d,"stock":10},{"id":3,"price":%d,"stock":10},{"id":4,"price":%d,"stock":10},{"id":5,"price":%d,"stock":10}]`

func (s *shop) price(food int64) int64 { return s.cfg.Catalog.Foods()[food-1].Price }

func TestFoods(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		want := fmt.Sprintf(foodList, s.price(1), s.price(2), s.price(3), s.price(4), s.price(5))
		s.expect(t, 2, "GET", "/foods", "", 200, want)
		s.expect(t, 3, "GET", "/foods", "{}", 200, want)
		s.PublishStock([]int64{10, 0, 10, 10, 9})
		want = strings.Replace(want, `"stock":10},{"id":3`, `"stock":0},{"id":3`, 1)
		want = strings.Replace(want, `"stock":10}]`, `"stock":9}]`, 1)
		s.expect(t, 2, "GET", "/foods", "", 200, want)
		s.expect(t, 20, "GET", "/foods", "", 200, want)
	})
}

func TestCreateCart(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
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
	onEach(t, func(t *testing.T, s *shop) {
		cart := "/carts/" + s.cartOf(2)
		for body, want := range badBodies(`{"food_id":1,"count":1}`) {
			s.expect(t, 2, "PATCH", cart, body, 400, want)
			s.expect(t, 2, "PATCH", "/carts/-1", body, 400, want) // the body is checked before the cart
		}
		for _, body := range []string{
			`{"food_id":1}`, `{"count":1}`, `{"food_id":"1","count":1}`, `{"food_id":1,"count":"1"}`, `{"food_id":null,"count":1}`,
			`{"food_id":1,"count":1.0}`, `{"food_id":1,"count":1e0}`, `{"food_id":01,"count":1}`, `{"food_id":+1,"count":1}`,
			`{"food_id":9223372036854775808,"count":1}`, `{"food_id":1,"count":-9223372036854775809}`, `{"food_id":1,"count":[1]}`,
		} {
			s.expect(t, 2, "PATCH", cart, body, 400, malformed)
		}
		one := `{"food_id":1,"count":1}`
		for _, id := range []string{"-1", "1", "garbage", s.cartOf(2)[1:], s.cartOf(2) + "A", s.token(2), strings.ToLower(s.cartOf(2)), "%00", "a%2fb"} {
			s.expect(t, 2, "PATCH", "/carts/"+id, one, 404, noCart)
		}
		s.expect(t, 2, "PATCH", "/carts/"+s.cartOf(3), one, 401, notYours)
		s.expect(t, 2, "PATCH", "/carts/"+s.cartOf(3), `{"food_id":99,"count":9}`, 401, notYours) // before the food
		for _, food := range []string{"0", "-1", "6", "9223372036854775807", "-9223372036854775808"} {
			s.expect(t, 2, "PATCH", cart, `{"food_id":`+food+`,"count":9}`, 404, noFood) // before the limit
		}
		for _, step := range []struct {
			food, count int64
			refused     bool
		}{
			{1, 4, true}, {1, math.MaxInt64, true}, {1, 0, false}, {2, -1, false}, {2, math.MinInt64, false},
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
		s.expect(t, 2, "POST", "/orders", `{"cart_id":"`+s.cartOf(2)+`"}`, 200, `{"id":"`+s.cfg.Sale.ID()+`-2"}`)
		s.expect(t, 2, "GET", "/orders", "", 200, fmt.Sprintf(
			`[{"id":"%s-2","items":[{"food_id":3,"count":1},{"food_id":1,"count":1},{"food_id":5,"count":1}],"total":%d}]`,
			s.cfg.Sale.ID(), s.price(3)+s.price(1)+s.price(5)))
	})
}

// fill puts pieces of a food into the user's cart and returns the body that orders it.
func (s *shop) fill(tb testing.TB, user uint32, food, count int) string {
	tb.Helper()
	s.expect(tb, user, "PATCH", "/carts/"+s.cartOf(user), fmt.Sprintf(`{"food_id":%d,"count":%d}`, food, count), 204, "")
	return `{"cart_id":"` + s.cartOf(user) + `"}`
}

func TestPlaceOrder(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		id := func(user int) string { return fmt.Sprintf(`{"id":"%s-%d"}`, s.cfg.Sale.ID(), user) }
		for body, want := range badBodies(`{"cart_id":"x"}`) {
			s.expect(t, 2, "POST", "/orders", body, 400, want)
		}
		for _, body := range []string{`{"cart_id":1}`, `{"cart_id":null}`, `{"cart":"x"}`, `{"cart_id":{}}`} {
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
		s.expect(t, 2, "POST", "/orders", `{"cart_id":"`+string(s.keys.AppendCart(nil, 2, 999))+`"}`, 403, oneOrder) // before an empty cart
		s.fill(t, 2, 2, 3)                                                                                           // a placed order never changes
		s.expect(t, 2, "POST", "/orders", mine, 403, oneOrder)
		s.expect(t, 2, "GET", "/orders", "", 200, fmt.Sprintf(`[{"id":"%s-2","items":[{"food_id":1,"count":2}],"total":%d}]`, s.cfg.Sale.ID(), 2*s.price(1)))

		// 10 pieces of food 1, 2 are sold: three users take 3, 3 and 2; the next one finds none and may change the cart.
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

func TestIdempotencyKey(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		id := `{"id":"` + s.cfg.Sale.ID() + `-2"}`
		body := s.fill(t, 2, 1, 1)
		long := strings.Repeat("k", idempotencyKeyMax)
		s.expect(t, 2, "POST", "/orders", body, 400, `{"code":"INVALID_IDEMPOTENCY_KEY","message":"Idempotency-Key 须为1至255个字符"}`, "Idempotency-Key", long+"k")
		s.expect(t, 2, "POST", "/orders", body, 200, id, "Idempotency-Key", long)
		s.expect(t, 2, "POST", "/orders", body, 200, id, "Idempotency-Key", long)
		wide := strings.Repeat("é", idempotencyKeyMax) // characters count, not bytes
		s.expect(t, 4, "POST", "/orders", s.fill(t, 4, 2, 1), 200, `{"id":"`+s.cfg.Sale.ID()+`-4"}`, "Idempotency-Key", wide)
		s.expect(t, 2, "POST", "/orders", body, 403, oneOrder, "Idempotency-Key", long[1:])
		s.expect(t, 2, "POST", "/orders", body, 403, oneOrder)
		// Another user's key means nothing, and an order without a key is not found under any.
		body = s.fill(t, 3, 1, 1)
		s.expect(t, 3, "POST", "/orders", body, 200, `{"id":"`+s.cfg.Sale.ID()+`-3"}`)
		s.expect(t, 3, "POST", "/orders", body, 403, oneOrder, "Idempotency-Key", long)
		if left, err := s.cfg.Sale.Stock(); err != nil || left[0] != 8 {
			t.Errorf("stock %v, %v; want 8", left, err)
		}
	})
}

func TestAllOrders(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		s.expect(t, 2, "GET", "/admin/orders", "", 401, invalidToken)
		s.expect(t, 1, "GET", "/admin/orders", "", 200, "[]")
		s.expect(t, 2, "POST", "/orders", s.fill(t, 2, 3, 2), 200, `{"id":"`+s.cfg.Sale.ID()+`-2"}`)
		first := fmt.Sprintf(`{"id":"%s-2","user_id":2,"items":[{"food_id":3,"count":2}],"total":%d}`, s.cfg.Sale.ID(), 2*s.price(3))
		s.expect(t, 1, "GET", "/admin/orders", "", 200, "["+first+"]")
		s.expect(t, 1, "POST", "/orders", s.fill(t, 1, 1, 1), 200, `{"id":"`+s.cfg.Sale.ID()+`-1"}`)
		second := fmt.Sprintf(`{"id":"%s-1","user_id":1,"items":[{"food_id":1,"count":1}],"total":%d}`, s.cfg.Sale.ID(), s.price(1))
		status, got, _ := s.call(t, 1, "GET", "/admin/orders", "")
		if status != 200 || got != "["+first+","+second+"]" && got != "["+second+","+first+"]" {
			t.Errorf("%d %s", status, got)
		}
	})
}

func TestPathsAndMethods(t *testing.T) {
	const (
		notFound   = `{"code":"NOT_FOUND","message":"路径不存在"}`
		notAllowed = `{"code":"METHOD_NOT_ALLOWED","message":"方法不允许"}`
	)
	onEach(t, func(t *testing.T, s *shop) {
		for _, path := range []string{"/", "/nothing", "/login/x", "/carts/", "/carts/a/b", "//foods", "/x/../foods", "/%66oods", "/orders/1", "/admin", "/Foods"} {
			s.expect(t, 0, "GET", path, "", 404, notFound)
			s.expect(t, 2, "POST", path, "{}", 404, notFound)
		}
		for _, tc := range []struct{ method, path, allow string }{
			{"GET", "/login", "POST"}, {"POST", "/foods", "GET"}, {"DELETE", "/foods", "GET"}, {"GET", "/carts", "POST"},
			{"POST", "/carts/x", "PATCH"}, {"PUT", "/orders", "GET, POST"}, {"POST", "/admin/orders", "GET"}, {"POST", "/readyz", "GET"},
		} {
			h := s.expect(t, 0, tc.method, tc.path, "", 405, notAllowed)
			if h.Get("Allow") != tc.allow {
				t.Errorf("%s %s: Allow %q, want %q", tc.method, tc.path, h.Get("Allow"), tc.allow)
			}
		}
	})
}

func TestHealth(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		s.expect(t, 0, "GET", "/healthz", "", 200, `{"status":"alive"}`)
		s.expect(t, 0, "GET", "/readyz", "", 200, `{"status":"ready","sale":"`+s.cfg.Sale.ID()+`","users":20,"foods":5}`)
		s.foods.Store(nil)
		s.expect(t, 0, "GET", "/readyz", "", 503, unavailable)
		s.expect(t, 0, "GET", "/healthz", "", 200, `{"status":"alive"}`)
	})
}

// With Redis gone every call that needs it gets 503 in time; the others go on.
func TestRedisGone(t *testing.T) {
	server := redistest.New(t)
	s := open(t, "unix", server.Socket)
	server.Kill(t)
	for _, c := range []struct{ method, path, body string }{
		{"PATCH", "/carts/" + s.cartOf(1), `{"food_id":1,"count":1}`}, {"POST", "/orders", `{"cart_id":"` + s.cartOf(1) + `"}`},
		{"GET", "/orders", ""}, {"GET", "/admin/orders", ""}, {"GET", "/readyz", ""},
	} {
		if h := s.expect(t, 1, c.method, c.path, c.body, 503, unavailable); h.Get("Retry-After") != "1" {
			t.Errorf("%s %s: Retry-After %q, want 1", c.method, c.path, h.Get("Retry-After"))
		}
	}
	if status, _, _ := s.call(t, 1, "GET", "/foods", ""); status != 200 {
		t.Errorf("GET /foods: %d", status)
	}
	if status, _, _ := s.call(t, 0, "POST", "/login", `{"username":"user2","password":"pass2"}`); status != 200 {
		t.Errorf("POST /login: %d", status)
	}
	if status, _, _ := s.call(t, 1, "POST", "/carts", ""); status != 200 {
		t.Errorf("POST /carts: %d", status)
	}
}

// A panic in a handler is a 500 for its request and nothing to the others.
func TestPanic(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	list := s.cfg.Keys
	s.cfg.Keys = nil
	s.expect(t, 1, "GET", "/foods", "", 500, `{"code":"INTERNAL_ERROR","message":"内部错误"}`)
	s.cfg.Keys = list
	s.expect(t, 1, "GET", "/orders", "", 200, "[]")
}
