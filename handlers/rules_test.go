package handlers

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"flashsale/internal/rooms/rules"
	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/redistest"
)

// ruledShop is a shop with rules of a purchase.
func ruledShop(tb testing.TB, network, address, text string) *shop {
	tb.Helper()
	name := filepath.Join(tb.TempDir(), "rules.csv")
	testkit.Must(tb, os.WriteFile(name, []byte(text), 0o600))
	source, err := rules.Read(name)
	testkit.Must(tb, err)
	s := open(tb, network, address)
	user := func(text string) (id uint32, err error) {
		_, err = fmt.Sscanf(text, "user%d", &id)
		return id, err
	}
	set, err := rules.Parse(source, rules.Context{Foods: 5, Slices: 1, User: user})
	testkit.Must(tb, err)
	cfg := s.redis
	cfg.Rules = true
	s.cfg.Sale = redisx.Join(cfg, s.cfg.Sale.ID(), 5, 20)
	testkit.Background(tb, s.cfg.Sale.Run)
	s.awaitRedis(tb)
	s.join(Rules(rules.New(set)))
	return s
}

// refused is the body of a refusal.
func refused(code, chinese, details string) string {
	if details != "" {
		details = `,"details":[` + details + "]"
	}
	return fmt.Sprintf(`{"code":%q,"message":%q%s}`, code, chinese, details)
}

// Each line is an order of a user: foods, coupon, and the refusal with details, "" where it is placed.
func TestRulesOfOrders(t *testing.T) {
	later := time.Now().Add(time.Hour).UTC().Truncate(time.Second).Format(time.RFC3339)
	text := strings.ReplaceAll(`limit,1,1
limit,1,2,vip
window,2,everyone,later
window,2,vip
window,3,everyone,,2020-01-01T00:00:00Z
window,4,vip
window,5,fcode
member,vip,user3
coupons,fcode,codes.csv
household,smith,user4
household,smith,user5
`, "later", later)
	for _, engine := range []string{"redis-server", "memory"} {
		t.Run(engine, func(t *testing.T) {
			network, address := "tcp", ""
			if engine == "memory" {
				address = redistest.MemoryToo(t)
			} else {
				network, address = "unix", redistest.Start(t).Socket
			}
			text := strings.ReplaceAll(text, "coupons,fcode,codes.csv", "coupon,fcode,CODE-1\ncoupon,fcode,CODE-2")
			s := ruledShop(t, network, address, text)
			at := strings.TrimSuffix(later, "Z") + ".000Z"
			anything := `"windows":null,"listed":true,"coupon":false}`
			for _, tc := range []struct {
				user          uint32
				foods         []int64
				coupon        string
				code, message string
				details       string
			}{
				{2, []int64{1, 1}, "", "RULE_LIMIT", "超过每人限购数量", `{"food_id":1,"limit":1,` + anything},
				{2, []int64{1, 2}, "", "RULE_TOO_EARLY", "您的购买时间未到",
					`{"food_id":2,"limit":null,"windows":[{"from":"` + at + `","until":null}],"listed":true,` +
						`"coupon":false}`},
				{2, []int64{3}, "", "RULE_TOO_LATE", "您的购买时间已过", `{"food_id":3,"limit":null,` +
					`"windows":[{"from":null,"until":"2020-01-01T00:00:00.000Z"}],"listed":true,"coupon":false}`},
				{2, []int64{4}, "", "RULE_NOT_LISTED", "您不在可购买名单中",
					`{"food_id":4,"limit":null,"windows":null,"listed":false,"coupon":false}`},
				{2, []int64{5}, "", "COUPON_NEEDED", "需要优惠码",
					`{"food_id":5,"limit":null,"windows":null,"listed":false,"coupon":true}`},
				{2, []int64{5}, "CODE-9", "COUPON_UNKNOWN", "优惠码不存在", ""},
				{2, []int64{5}, "?", "COUPON_UNKNOWN", "优惠码不存在", ""},
				{2, []int64{1, 1}, "CODE-1|;1:9:", "COUPON_UNKNOWN", "优惠码不存在", ""},
				{2, []int64{1, 1}, "CODE-1\n|\x00\"", "COUPON_UNKNOWN", "优惠码不存在", ""},
				{2, []int64{5}, "code-1", "", "", ""},
				{6, []int64{5}, "CODE-1", "COUPON_USED", "优惠码已使用", `{"coupon":"CODE-1"}`},
				{6, []int64{1}, "CODE-1", "COUPON_USED", "优惠码已使用", `{"coupon":"CODE-1"}`},
				{3, []int64{1, 1, 4}, "", "", "", ""},
				{4, []int64{1}, "", "", "", ""},
				{5, []int64{1}, "", "RULE_HOUSEHOLD", "同户的其他用户已下单", `{"household":"smith"}`},
				{4, []int64{1}, "", "ORDER_OUT_OF_LIMIT", "每个用户只能下一单", ""},
			} {
				cart := string(s.keys.AppendCart(nil, tc.user, uint64(time.Now().UnixNano())))
				for _, food := range tc.foods {
					s.expect(t, tc.user, "PATCH", "/carts/"+cart, fmt.Sprintf(`{"food_id":%d,"count":1}`, food), 204, "")
				}
				coupon, err := json.Marshal(tc.coupon)
				testkit.Must(t, err)
				body := fmt.Sprintf(`{"cart_id":%q,"coupon":%s}`, cart, coupon)
				if tc.code == "" {
					id := fmt.Sprintf(`{"id":"%s-%d"}`, s.cfg.Sale.ID(), tc.user)
					s.expect(t, tc.user, "POST", "/orders", body, 200, id)
					continue
				}
				s.expect(t, tc.user, "POST", "/orders", body, 403, refused(tc.code, tc.message, ""))
				s.expect(t, tc.user, "POST", "/orders?details=1", body, 403, refused(tc.code, tc.message, tc.details))
			}
			s.expect(t, 2, "POST", "/orders", `{"cart_id":"a","coupon":1}`, 400,
				refused("MALFORMED_JSON", "格式错误", ""))
			s.expect(t, 4, "GET", "/rules", "", 200, `{"household":"smith","coupons":true,"others":{"limit":null,`+
				anything+`,"foods":[{"food_id":1,"limit":1,`+anything+`,{"food_id":2,"limit":null,"windows":[{"from":"`+
				at+
				`","until":null}],"listed":true,"coupon":false},{"food_id":3,"limit":null,"windows":[{"from":null,`+
				`"until":"2020-01-01T00:00:00.000Z"}],"listed":true,"coupon":false},{"food_id":4,"limit":null,`+
				`"windows":null,"listed":false,"coupon":false},{"food_id":5,"limit":null,"windows":null,`+
				`"listed":false,"coupon":true}]}`)
			s.expect(t, 1, "GET", "/admin/rules", "", 200, fmt.Sprintf(`{"version":%q,"limits_and_windows":7,`+
				`"users":3,"groups":[{"name":"vip","members":1,"coupons":0},{"name":"fcode","members":0,"coupons":2}],`+
				`"households":1,"households_used":1,"coupons":2,"coupons_used":1}`, s.rules.Set().Version))
		})
	}
}

// Who guesses coupons is refused after a while, orders without one and those of others are not.
func TestCouponsAreLimited(t *testing.T) {
	s := ruledShop(t, "unix", redistest.Start(t).Socket,
		"limit,5,3\ncoupon,fcode,CODE-1\ncoupon,fcode,CODE-2\n")
	s = limited(t, s, "coupon by user 3/h", nil)
	order := func(user uint32, coupon string) string {
		return fmt.Sprintf(`{"cart_id":%q,"coupon":%q}`, s.cartOf(user), coupon)
	}
	for user := uint32(2); user < 6; user++ {
		s.expect(t, user, "PATCH", "/carts/"+s.cartOf(user), `{"food_id":1,"count":1}`, 204, "")
	}
	unknown := string(errCouponUnknown.body)
	for guess := range 3 {
		s.expect(t, 2, "POST", "/orders", order(2, fmt.Sprintf("GUESS-%d", guess)), 403, unknown)
	}
	s.awaitCounted(t, "/limits/coupon?user=2", `"remaining":0,`)
	s.expect(t, 2, "POST", "/orders", order(2, "CODE-1"), 429, tooMany)
	s.expect(t, 2, "POST", "/orders", order(2, ""), 200, `{"id":"`+s.cfg.Sale.ID()+`-2"}`)
	s.expect(t, 3, "POST", "/orders", order(3, "CODE-1"), 200, `{"id":"`+s.cfg.Sale.ID()+`-3"}`)
	s.expect(t, 4, "POST", "/orders", order(4, "CODE-1"), 403, string(errCouponUsed.body))
	s.awaitCounted(t, "/limits/coupon?user=4", `"remaining":2,`)
	s.expect(t, 4, "POST", "/orders?details=1", order(4, "CODE-1"), 403,
		refused("COUPON_USED", "优惠码已使用", `{"coupon":"CODE-1"}`))
	s.awaitCounted(t, "/limits/coupon?user=4", `"remaining":1,`)
	s.expect(t, 4, "POST", "/orders", order(4, "CODE-2"), 200, `{"id":"`+s.cfg.Sale.ID()+`-4"}`)
	s.awaitCounted(t, "/limits/coupon?user=3", `"remaining":3,`)
}

// An order that was placed is answered again under its key, also where its coupon is not there any longer.
func TestCouponThatWasRemoved(t *testing.T) {
	s := ruledShop(t, "unix", redistest.Start(t).Socket, "limit,5,3\ncoupon,fcode,CODE-1\n")
	order := `{"cart_id":"` + s.cartOf(2) + `","coupon":"CODE-1"}`
	s.expect(t, 2, "PATCH", "/carts/"+s.cartOf(2), `{"food_id":1,"count":1}`, 204, "")
	id := `{"id":"` + s.cfg.Sale.ID() + `-2"}`
	s.expect(t, 2, "POST", "/orders", order, 200, id, "Idempotency-Key", "k")
	file := rules.File{Name: "rules.csv", Text: "none\n"}
	none, err := rules.Parse(&rules.Source{Files: []rules.File{file}}, rules.Context{})
	testkit.Must(t, err)
	s.rules.Use(none)
	s.expect(t, 2, "POST", "/orders", order, 200, id, "Idempotency-Key", "k")
	s.expect(t, 2, "POST", "/orders", order, 403, string(errOrderLimit.body), "Idempotency-Key", "other")
	s.expect(t, 3, "PATCH", "/carts/"+s.cartOf(3), `{"food_id":1,"count":1}`, 204, "")
	s.expect(t, 3, "POST", "/orders", strings.ReplaceAll(order, s.cartOf(2), s.cartOf(3)), 403,
		string(errCouponUnknown.body), "Idempotency-Key", "k")
}

// Rules cost the order path no allocation, whether they refuse an order or not.
func TestRulesDoNotAllocate(t *testing.T) {
	s := ruledShop(t, "unix", redistest.Start(t).Socket, "limit,1,0\nwindow,5,fcode\ncoupon,fcode,CODE-1\n")
	body := `{"cart_id":"` + s.cartOf(2) + `","coupon":"CODE-1"}`
	s.expect(t, 2, "PATCH", "/carts/"+s.cartOf(2), `{"food_id":1,"count":1}`, 204, "")
	for _, want := range []string{"RULE_LIMIT", "COUPON_UNKNOWN"} {
		status, allocs := s.allocsOf("POST", "/orders", body, "Access-Token", s.token(2))
		if status != 403 || allocs != 0 {
			t.Errorf("%s: %d with %v allocations", want, status, allocs)
		}
		s.expect(t, 2, "POST", "/orders", body, 403, string(failureByCode(want).body))
		body = strings.ReplaceAll(body, "CODE-1", "CODE-2")
	}
}

func failureByCode(code string) *failure {
	for _, f := range failures {
		if strings.Contains(string(f.body), `"`+code+`"`) {
			return f
		}
	}
	return nil
}
