package handlers

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/redistest"
	"flashsale/redisx/turnover"
)

const (
	badRows = `{"code":"INVALID_ROWS","message":"rows 须为 orders 或 items"}`
	noOrder = `{"code":"ORDER_NOT_FOUND","message":"订单不存在"}`
)

// orderAt is when the order of a user of withOrders was placed.
func orderAt(user int) time.Time { return time.UnixMilli(1_800_000_000_000 + 60_000*int64(user)).UTC() }

// withOrders places an order of each of the users: 2 pieces of food <user>%5+1, and one of food 1.
func withOrders(t *testing.T, open opener, users ...int) (*shop, *redistest.Server) {
	t.Helper()
	server := redistest.Start(t)
	s := open(t, "unix", server.Socket)
	for _, user := range users {
		server.Do(t, fmt.Sprintf(`EVAL "return redis.call('SET', 'o_%d', '%d:2,1:1,|\\n%d')" 0`, user, user%5+1,
			orderAt(user).UnixMilli()))
	}
	return s, server
}

// Orders are found by each key, and by several. That of a user is looked up: nothing is scanned.
func TestSearchOrders(t *testing.T) { onEngines(t, testSearchOrders) }

func testSearchOrders(t *testing.T, open opener) {
	s, server := withOrders(t, open, 6, 7, 8)
	sum := func(user int) int64 { return 2*s.price(int64(user%5+1)) + s.price(1) }
	found := func(user int) string {
		return fmt.Sprintf(`[{"id":"%s-%d","user_id":%[2]d,"items":[{"food_id":%d,"count":2},`+
			`{"food_id":1,"count":1}],"total":%d`, s.cfg.Sale.ID(), user, user%5+1, sum(user))
	}
	server.Do(t, "CONFIG RESETSTAT")
	for _, query := range []string{"user=7", "name=user7", "user=7&food=3",
		"name=user7&food=FRIED+Rice&limit=1",
		"user=7&from=2027-01-15T08:07:00Z&to=2027-01-15T09:07:00.001%2B01:00"} {
		s.expect(t, rootUser, "GET", "/admin/orders?"+query, "", 200, found(7)+"}]")
		s.expect(t, rootUser, "GET", "/admin/orders?details=1&"+query, "", 200, found(7)+
			`,"placed_at":"2027-01-15T08:07:00.000Z","username":"user7"}]`)
	}
	for _, query := range []string{"user=7&food=4", "user=9", "user=4294967295",
		"name=user7&to=2027-01-15T08:07:00Z", "user=7&from=2027-01-15T08:07:00.001Z"} {
		s.expect(t, rootUser, "GET", "/admin/orders?details=1&"+query, "", 200, "[]")
	}
	if scans := commandCalls(t, server, "scan"); scans > 0 {
		t.Errorf("Redis is scanned %d times for the order of a user", scans)
	}
	for query, want := range map[string]string{"food=3": found(7), "food=2": found(6),
		"from=2027-01-15T08:08:00Z": found(8), "to=2027-01-15T08:07:00Z": found(6)} {
		s.expect(t, rootUser, "GET", "/admin/orders?"+query, "", 200, want+"}]")
	}
	for query, want := range map[string]int{"user=": 3, "limit=2": 2, "limit=2147483647": 3, "food=1": 3,
		"food=spicy": 3, "food=1&limit=1": 1, "from=2027-01-15T08:07:00Z": 2} {
		_, body, _ := s.call(t, rootUser, "GET", "/admin/orders?"+query, "")
		if strings.Count(body, `"id"`) != want {
			t.Errorf("%s: %s, want %d orders", query, body, want)
		}
	}
	for _, bad := range []string{"from=yesterday", "to=2027-01-15", "limit=0", "limit=x", "limit=2147483648",
		"user=7&name=user7"} {
		s.expect(t, rootUser, "GET", "/admin/orders?"+bad, "", 400, badRange)
	}
	for _, nobody := range []string{"0", "x", "4294967296", "-1"} {
		s.expect(t, rootUser, "GET", "/admin/orders?user="+nobody, "", 404,
			`{"code":"USER_NOT_FOUND","message":"用户不存在：`+nobody+`"}`)
	}
	s.expect(t, rootUser, "GET", "/admin/orders?name=ann", "", 404,
		`{"code":"USER_NOT_FOUND","message":"There is no such user: ann"}`, "Accept-Language", "en")
	for _, food := range []string{"0", "6", "lobster", "99999999999999999999"} {
		s.expect(t, rootUser, "GET", "/admin/orders?food="+food, "", 404, noFood)
	}
	s.expect(t, 2, "GET", "/admin/orders?user=2", "", 401, invalidToken)
	awaitNoLists(t, s)
}

// People who have registered are found by their names too.
func TestSearchRegistered(t *testing.T) {
	onEngines(t, func(t *testing.T, open opener) {
		s, server := withOrders(t, open)
		server.Do(t, `EVAL "return redis.call('SET', 'o_2147483648', '1:1,|\\n1800000000000')" 0`)
		s.withAccounts(t)
		s.expectSession(t, "/users", registration("Zoë", "password"), 201, first, "Zoë")
		want := fmt.Sprintf(`[{"id":"%s-%d","user_id":%[2]d,"items":[{"food_id":1,"count":1}],"total":%d,`+
			`"placed_at":"2027-01-15T08:00:00.000Z","username":"Zoë"}]`, s.cfg.Sale.ID(), first, s.price(1))
		s.expect(t, rootUser, "GET", "/admin/orders?details=1&name=zo%C3%AB", "", 200, want)
		s.expect(t, rootUser, "GET", "/admin/orders?name=Ann", "", 404,
			`{"code":"USER_NOT_FOUND","message":"用户不存在：Ann"}`)
	})
}

// One order comes with its buyer, and with names and prices of its foods.
func TestShowOrder(t *testing.T) { onEngines(t, testShowOrder) }

func testShowOrder(t *testing.T, open opener) {
	s, server := withOrders(t, open, 7)
	id := s.cfg.Sale.ID()
	currency := ""
	if c := s.cfg.Catalog.Currency(); c != "" {
		currency = fmt.Sprintf(`"currency":%q,"decimals":2,`, c)
	}
	s.expect(t, rootUser, "GET", "/admin/orders/"+id+"-7", "", 200, fmt.Sprintf(
		`{"id":"%s-7","sale":"%[1]s","user_id":7,"username":"user7","placed_at":"2027-01-15T08:07:00.000Z",%s`+
			`"items":[{"food_id":3,%s,"count":2,"price":%d,"sum":%d},{"food_id":1,%s,"count":1,"price":%d,`+
			`"sum":%[8]d}],"total":%d}`, id, currency, s.goodsName(3), s.price(3), 2*s.price(3), s.goodsName(1),
		s.price(1), s.price(1), 2*s.price(3)+s.price(1)))
	for _, none := range []string{id + "-8", "aaaaaaaa-7"} {
		s.expect(t, rootUser, "GET", "/admin/orders/"+none, "", 404, noOrder)
	}
	for _, bad := range []string{id, id + "-", id + "-07", id + "-7-", id + "-x", id + "-4294967296",
		".", ".."} {
		if status, body, _ := s.call(t, rootUser, "GET", "/admin/orders/"+bad, ""); status != 404 ||
			!strings.Contains(body, `"NOT_FOUND"`) {
			t.Errorf("%s: %d %s", bad, status, body)
		}
	}
	s.expect(t, 2, "GET", "/admin/orders/"+id+"-7", "", 403, notAllowed)
	s.expect(t, 0, "GET", "/admin/orders/"+id+"-7", "", 401, invalidToken)
	s.fillLists()
	s.expect(t, rootUser, "GET", "/admin/orders/"+id+"-7", "", 429, tooMany)
	s.freeLists()
	server.Do(t, "SET o_7 broken")
	s.unchecked()
	if status, _, _ := s.call(t, rootUser, "GET", "/admin/orders/"+id+"-7", ""); status != 500 {
		t.Errorf("an order that cannot be read: %d", status)
	}
}

// Orders of a sale that has ended are listed, found, exported and shown with its prices. It is closed each
// time.
func TestPastOrders(t *testing.T) { onEngines(t, testPastOrders) }

func testPastOrders(t *testing.T, open opener) {
	s, _ := withOrders(t, open, 7)
	const noSale = `{"code":"SALE_NOT_FOUND","message":"场次不存在"}`
	s.expect(t, rootUser, "GET", "/admin/orders?sale=fullfull", "", 404, noSale)
	s.expect(t, rootUser, "GET", "/admin/sales", "", 200,
		fmt.Sprintf(`{"sale":%q,"previous":[]}`, s.cfg.Sale.ID()))
	var opened, shut atomic.Int64
	order := redisx.Order{User: 7, Items: []redisx.Item{{Food: 9, Count: 2}}, Placed: orderAt(7)}
	s.do(func() {
		s.cfg.PastSales = func() ([]string, error) { return slices.Repeat([]string{"fullfull"}, 101), nil }
		s.cfg.PastSale = func(sale string) (*PastSale, error) {
			if sale != "fullfull" {
				return nil, turnover.ErrNoPastSale
			}
			opened.Add(1)
			return &PastSale{Prices: []int64{8: 21}, Close: func() { shut.Add(1) },
				Next: once(func() (redisx.Order, error) { return order, nil }),
				Order: func(user uint32) (redisx.Order, error) {
					if user == 7 {
						return order, nil
					}
					return redisx.Order{User: user}, nil
				}}, nil
		}
	})
	const items = `"items":[{"food_id":9,"count":2}],"total":42`
	const placed = `"placed_at":"2027-01-15T08:07:00.000Z"`
	for _, test := range []struct {
		query  string
		status int
		want   string
	}{
		{"?sale=fullfull", 200, `[{"id":"fullfull-7","user_id":7,` + items + `}]`},
		{"?sale=fullfull&user=7&details=1", 200, `[{"id":"fullfull-7","user_id":7,` + items + "," + placed +
			`,"username":""}]`},
		{"?sale=fullfull&user=8", 200, "[]"},
		{"?sale=notthere", 404, noSale},
		{"?sale=fullfull&format=csv&rows=foods", 400, badRows},
		{"/fullfull-7", 200, `{"id":"fullfull-7","sale":"fullfull","user_id":7,"username":"",` + placed +
			`,"items":[{"food_id":9,"count":2,"price":21,"sum":42}],"total":42}`},
		{"/fullfull-8", 404, noOrder},
		{"/notthere-7", 404, noOrder},
	} {
		s.expect(t, rootUser, "GET", "/admin/orders"+test.query, "", test.status, test.want)
	}
	_, table, _ := s.call(t, rootUser, "GET", "/admin/orders?sale=fullfull&format=csv&rows=items", "")
	if want := "2027-01-15T08:07:00.000Z,fullfull-7,7,,9,,2,21,42,,21,42\r\n"; !strings.HasSuffix(table, want) {
		t.Errorf("the export is %q, want %q", table, want)
	}
	s.fillLists()
	s.expect(t, rootUser, "GET", "/admin/orders?sale=fullfull", "", 429, tooMany)
	s.freeLists()
	awaitNoLists(t, s)
	testkit.Until(t, "every past sale is closed", func() bool { return opened.Load() == shut.Load() })
	_, body, _ := s.call(t, rootUser, "GET", "/admin/sales", "")
	if n := strings.Count(body, "fullfull"); n != salesMax {
		t.Errorf("%d sales are listed", n)
	}
	s.do(func() { s.cfg.PastSales = func() ([]string, error) { return nil, redisx.ErrUnavailable } })
	s.expect(t, rootUser, "GET", "/admin/sales", "", 503, unavailable)
	s.expect(t, 2, "GET", "/admin/sales", "", 403, notAllowed)
}

// goodsName are the names of a food as they stand in a body.
func (s *shop) goodsName(food int) string {
	goods := s.cfg.Catalog.Goods()[food-1].Name
	return fmt.Sprintf(`"name":%q,"names":{"en":%q,"zh":%q}`, goods.Default, goods.In["en"], goods.In["zh"])
}

// An export by item has a line for each, by time and then by id, and is of what a search finds.
func TestExportItems(t *testing.T) { onEngines(t, testExportItems) }

func testExportItems(t *testing.T, open opener) {
	s, server := withOrders(t, open, 8, 7)
	server.Do(t, fmt.Sprintf(`EVAL "return redis.call('SET', 'o_12', '2:1,|\\n%d')" 0`, orderAt(7).UnixMilli()))
	id, currency := s.cfg.Sale.ID(), s.cfg.Catalog.Currency()
	row := func(user, minute int, food int64, count int64, name string) string {
		money := func(amount int64) string {
			if currency == "" {
				return fmt.Sprint(amount)
			}
			return fmt.Sprintf("%d.%02d", amount/100, amount%100)
		}
		const row = "2027-01-15T08:%02d:00.000Z,%s-%d,%[3]d,user%[3]d,%d,%s,%d,%s,%s,%s,%d,%d\r\n"
		return fmt.Sprintf(row, minute, id, user, food, name, count, money(s.price(food)),
			money(count*s.price(food)), currency, s.price(food),
			count*s.price(food))
	}
	name := func(food int, language string) string { return s.cfg.Catalog.FoodNames(language)(int64(food)) }
	const head = "placed_at,order_id,user_id,user_name,food_id,food_name,count,price,sum,currency," +
		"price_minor,sum_minor\r\n"
	for query, want := range map[string]string{
		"": head + row(7, 7, 3, 2, name(3, "")) + row(7, 7, 1, 1, name(1, "")) + row(12, 7, 2, 1, name(2, "")) +
			row(8, 8, 4, 2, name(4, "")) + row(8, 8, 1, 1, name(1, "")),
		"&bom=1&language=zh&food=2": "\xEF\xBB\xBF" + head + row(12, 7, 2, 1, name(2, "zh")),
		"&user=9":                   head,
	} {
		status, body, header := s.call(t, rootUser, "GET", "/admin/orders?format=csv&rows=items"+query, "")
		if status != 200 || body != want ||
			header.Get("Content-Disposition") != `attachment; filename="items-`+id+`.csv"` {
			t.Errorf("%s: %d %v\n got %q\nwant %q", query, status, header, body, want)
		}
	}
	_, body, _ := s.call(t, rootUser, "GET", "/admin/orders?format=jsonl&rows=items&user=12", "")
	if want := fmt.Sprintf(`{"placed_at":"2027-01-15T08:07:00.000Z","order_id":"%s-12","user_id":12,`+
		`"username":"user12","food_id":2,"food_name":%q,"count":1,"price":%d,"sum":%[3]d,"currency":%q,`+
		`"decimals":%d}`+"\n", id, name(2, ""), s.price(2), currency, len(currency)/3*2); body != want {
		t.Errorf("a line is\n%s\nwant\n%s", body, want)
	}
	s.expect(t, rootUser, "GET", "/admin/orders?format=csv&rows=foods", "", 400, badRows)
	s.do(func() { s.sortedMax = 2 })
	s.expect(t, rootUser, "GET", "/admin/orders?format=csv&rows=items", "", 413,
		`{"code":"TOO_MANY_ORDERS","message":"订单过多，无法排序；请缩小范围或使用 flashsale sale export"}`)
	awaitNoLists(t, s)
}
