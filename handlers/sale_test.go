package handlers

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx"
)

const (
	notOpen       = `{"code":"SALE_NOT_OPEN","message":"抢购未开始"}`
	paused        = `{"code":"SALE_PAUSED","message":"抢购已暂停"}`
	closed        = `{"code":"SALE_CLOSED","message":"抢购已结束"}`
	stateConflict = `{"code":"SALE_STATE_CONFLICT","message":"抢购状态冲突"}`
	keyReused     = `{"code":"IDEMPOTENCY_KEY_REUSED","message":"Idempotency-Key 已用于其他请求"}`
	badState      = `{"code":"INVALID_SALE_STATE","message":"抢购状态无效"}`
	closesInPast  = `{"code":"CLOSES_IN_PAST","message":"结束时间已过；要立即结束，请发送 state 为 closed"}`
	opensInPast   = `{"code":"OPENS_IN_PAST","message":"开始时间已过；要立即开始，请发送 state 为 open"}`
	badAdd        = `{"code":"INVALID_ADD","message":"add 不能为 0，且绝对值不能超过 1000000000"}`
	badTimes      = `{"code":"INVALID_SALE_TIMES","message":"开始或结束时间无效"}`
)

// recent is a time of the last minute in a body, as hideTimes leaves it.
const recent = `"NOW"`

var timeText = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"`)

// hideTimes puts "NOW" in the place of each time of the last minute.
func hideTimes(body string) string {
	return timeText.ReplaceAllStringFunc(body, func(text string) string {
		at, err := time.Parse(time.RFC3339, strings.Trim(text, `"`))
		if age := time.Since(at); err == nil && age > -time.Second && age < time.Minute {
			return recent
		}
		return text
	})
}

// expectNow is expect for a body with times of now.
func (s *shop) expectNow(t *testing.T, user uint32, method, path, body string, status int, want string) {
	t.Helper()
	if gotStatus, got, _ := s.call(t, user, method, path, body); gotStatus != status || hideTimes(got) != want {
		t.Errorf("%s %s %s:\n got %d %s\nwant %d %s", method, path, body, gotStatus, hideTimes(got), status, want)
	}
}

// saleBody is the body of GET /sale.
func (s *shop) saleBody(state, opens, closes string, left, sold, orders int) string {
	return fmt.Sprintf(`{"id":"%s","state":"%s","now":"NOW","opens_at":%s,"closes_at":%s,`+
		`"pieces_left":%d,"pieces_sold":%d,"orders":%d}`, s.cfg.Sale.ID(), state, opens, closes, left, sold,
		orders)
}

// Anybody may see the sale as the last snapshot has it.
func TestShowSale(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.expectNow(t, 0, "GET", "/sale", "", 200, s.saleBody("open", "null", "null", 50, 0, 0))
		found := snapshotOf([]int64{1, 2, 3, 4, 5})
		found.Restocked[1], found.Orders, found.State = 7, 12, redisx.StateClosed
		found.OpensAt = time.Date(2026, 11, 22, 12, 0, 0, 5e6, time.FixedZone("", 7200))
		found.ClosesAt = time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
		s.do(func() { s.Publish(found) })
		s.expectNow(t, 0, "GET", "/sale", "", 200, s.saleBody("closed", `"2026-11-22T10:00:00.005Z"`,
			`"2027-01-02T03:04:05.000Z"`, 15, 42, 12))
		for tail, slices := range map[string]redisx.SliceStates{
			"":                                   {All: 3, Skew: time.Second},
			`,"slices_away":3`:                   {All: 3, Away: 1, Lost: 2},
			`,"slices_behind":1`:                 {All: 3, Behind: 1},
			`,"slices_away":1,"slices_behind":2`: {All: 3, Lost: 1, Behind: 2},
		} {
			found := snapshotOf([]int64{1, 2, 3, 4, 5})
			found.Slices = slices
			s.do(func() { s.Publish(found) })
			whole := strings.TrimSuffix(s.saleBody("open", "null", "null", 15, 35, 0), "}") + tail + "}"
			s.expectNow(t, 0, "GET", "/sale", "", 200, whole)
		}
		s.do(s.PublishGone)
		s.expect(t, 0, "GET", "/sale", "", 503, unavailable)
	})
}

// Root changes the state and the times, and each change is in the log.
func TestChangeSale(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		const early, late = "2100-01-02T03:04:05.678Z", "2100-01-03T00:00:00.000Z"
		const earlyHere = "2100-01-02T05:04:05.678+02:00"
		body := func(state, opens, closes string) string { return s.saleBody(state, opens, closes, 50, 0, 0) }
		s.expect(t, 0, "PUT", "/admin/sale", `{"state":"paused"}`, 401, invalidToken)
		s.expect(t, 2, "PUT", "/admin/sale", `{"state":"paused"}`, 403, notAllowed)
		for bad, want := range strictBodies(`{"state":"paused"}`, "state", "opens_at", "closes_at", "id") {
			s.expect(t, rootUser, "PUT", "/admin/sale", bad, 400, want)
		}
		for _, bad := range []string{`{"state":null}`, `{"state":1}`, `{"opens_at":1}`,
			`{"closes_at":{}}`, `{"state":"open","closes_at":false}`, `{"state":"paused","id":7}`,
			`{"id":"` + s.cfg.Sale.ID() + `"}`} {
			s.expect(t, rootUser, "PUT", "/admin/sale", bad, 400, malformed)
		}
		for _, bad := range []string{`{"state":"Paused"}`, `{"state":"","opens_at":"x"}`} {
			s.expect(t, rootUser, "PUT", "/admin/sale", bad, 400, badState)
		}
		for _, bad := range []string{`{"opens_at":""}`, `{"opens_at":"2100-01-02 03:04:05Z"}`,
			`{"closes_at":"2100-01-02T03:04:05"}`, `{"closes_at":"9999-12-31T23:59:59-23:59"}`,
			`{"closes_at":"9999-12-31T23:59:59.9999Z"}`, `{"closes_at":"1960-01-02T03:04:05Z"}`,
			`{"state":"scheduled","opens_at":"` + late + `","closes_at":"` + early + `"}`} {
			s.expect(t, rootUser, "PUT", "/admin/sale", bad, 400, badTimes)
		}
		for _, bad := range []string{`{"state":"scheduled"}`, `{"opens_at":"` + late + `"}`,
			`{"state":"paused","id":"aaaaaaaa"}`} {
			s.expect(t, rootUser, "PUT", "/admin/sale", bad, 409, stateConflict)
		}
		for _, more := range []string{"", `,"state":"open"`, `,"state":"closed"`,
			`,"state":"scheduled","opens_at":"` + early + `"`} {
			s.expect(t, rootUser, "PUT", "/admin/sale", `{"closes_at":"2001-01-02T03:04:05Z"`+more+"}", 400,
				closesInPast)
		}
		s.expect(t, rootUser, "PUT", "/admin/sale", `{"state":"scheduled","opens_at":"2001-01-02T03:04:05Z"}`, 400,
			opensInPast)
		for _, step := range []struct{ change, want string }{
			{`{"state":"paused","id":"` + s.cfg.Sale.ID() + `"}`, body("paused", "null", "null")},
			{`{"state":"paused"}`, body("paused", "null", "null")},
			{`{"state":"open"}`, body("open", "null", "null")},
			{`{"closes_at":"` + late + `"}`, body("open", "null", `"`+late+`"`)},
			{`{"opens_at":"` + earlyHere + `","state":"scheduled"}`,
				body("scheduled", `"`+early+`"`, `"`+late+`"`)},
			{`{"state":"open"}`, body("open", recent, `"`+late+`"`)},
			{`{"closes_at":null}`, body("open", recent, "null")},
			{`{"state":"closed"}`, body("closed", recent, "null")},
		} {
			s.expectNow(t, rootUser, "PUT", "/admin/sale", step.change, 200, step.want)
		}
		state := func(before, after string) string {
			return `{"at":"NOW","by":"root","what":"state","before":"` + before + `","after":"` + after + `"}`
		}
		times := func(opens, closes, opens2, closes2 string) string {
			return `{"at":"NOW","by":"root","what":"times","before":{"opens_at":` + opens + `,"closes_at":` + closes +
				`},"after":{"opens_at":` + opens2 + `,"closes_at":` + closes2 + `}}`
		}
		s.expectNow(t, rootUser, "GET", "/admin/log", "", 200, "["+strings.Join([]string{
			`{"at":"NOW","by":"terminal","what":"opened","pieces":50,"opens_at":null,"closes_at":null}`,
			state("open", "paused"), state("paused", "open"),
			times("null", "null", "null", `"`+late+`"`),
			times("null", `"`+late+`"`, `"`+early+`"`, `"`+late+`"`), state("open", "scheduled"),
			times(`"`+early+`"`, `"`+late+`"`, recent, `"`+late+`"`), state("scheduled", "open"),
			times(recent, `"`+late+`"`, recent, "null"), state("open", "closed"),
		}, ",")+"]")
		s.expect(t, 2, "GET", "/admin/log", "", 403, notAllowed)
	})
}

// Outside the open state carts are filled and no order is placed.
func TestOrderOutsideOpen(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.expect(t, 3, "POST", "/orders", s.fill(t, 3, 1, 1), 200, s.orderID(3), "Idempotency-Key", "k")
		for _, step := range []struct{ change, want string }{
			{`{"state":"paused"}`, paused}, {`{"state":"closed"}`, closed},
			{`{"state":"scheduled","opens_at":"2100-01-01T00:00:00Z"}`, notOpen},
		} {
			if status, body, _ := s.call(t, rootUser, "PUT", "/admin/sale", step.change); status != 200 {
				t.Fatalf("%s: %d %s", step.change, status, body)
			}
			s.expect(t, 2, "POST", "/orders", s.fill(t, 2, 1, 1), 403, step.want)
			s.expect(t, 2, "POST", "/orders", `{"cart_id":"-1"}`, 404, noCart)
			s.expect(t, 2, "POST", "/orders", `{"cart_id":"`+s.cartOf(3)+`"}`, 401, notYours)
			mine := `{"cart_id":"` + s.cartOf(3) + `"}`
			s.expect(t, 3, "POST", "/orders", mine, 403, oneOrder)
			s.expect(t, 3, "POST", "/orders", mine, 200, s.orderID(3), "Idempotency-Key", "k")
			s.expect(t, 2, "GET", "/orders", "", 200, "[]")
		}
		s.expect(t, rootUser, "PUT", "/admin/sale", `{"opens_at":"2001-01-02T03:04:05Z"}`, 400, opensInPast)
		s.call(t, rootUser, "PUT", "/admin/sale", `{"state":"open"}`)
		s.expect(t, 2, "POST", "/orders", `{"cart_id":"`+s.cartOf(2)+`"}`, 200, s.orderID(2))
		found, err := s.cfg.Sale.Snapshot()
		if err != nil || found.Left[0] != 6 {
			t.Errorf("stock %v, %v; want 6", found.Left, err)
		}
	})
}

// Root adds pieces and takes them back; an Idempotency-Key repeats the first answer.
func TestChangeStock(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		const path = "/admin/foods/1/stock"
		food := func(id int64, stock int) string {
			return fmt.Sprintf(`{"id":%d,"price":%d,"stock":%d}`, id, s.price(id), stock)
		}
		s.expect(t, 0, "POST", path, `{"add":1}`, 401, invalidToken)
		s.expect(t, 2, "POST", path, `{"add":1}`, 403, notAllowed)
		for bad, want := range strictBodies(`{"add":1}`, "add") {
			s.expect(t, rootUser, "POST", path, bad, 400, want)
		}
		for _, bad := range []string{`{"add":"1"}`, `{"add":1.5}`, `{"add":9223372036854775808}`} {
			s.expect(t, rootUser, "POST", path, bad, 400, malformed)
		}
		for _, bad := range []string{`{"add":0}`, `{"add":1000000001}`, `{"add":-1000000001}`,
			`{"add":1000000000000}`, `{"add":-9223372036854775808}`} {
			s.expect(t, rootUser, "POST", path, bad, 400, badAdd)
		}
		for _, id := range []string{"0", "6", "-1", "x", "1.0", "01", "+1", "99999999999999999999"} {
			s.expect(t, rootUser, "POST", "/admin/foods/"+id+"/stock", `{"add":1}`, 404, noFood)
		}
		s.expect(t, rootUser, "POST", path, `{"add":1}`, 400, badKey, "Idempotency-Key", strings.Repeat("k", 256))
		s.expect(t, rootUser, "POST", path, `{"add":5}`, 200, food(1, 15))
		s.expect(t, rootUser, "POST", path, `{"add":-1000}`, 409,
			`{"code":"TOO_FEW_LEFT","message":"只剩 15 件，不能收回 1000 件"}`)
		for range 2 {
			s.expect(t, rootUser, "POST", path, `{"add":-15}`, 200, food(1, 0), "Idempotency-Key", "键")
		}
		for at, add := range map[string]string{path: `{"add":1}`, "/admin/foods/2/stock": `{"add":-15}`} {
			s.expect(t, rootUser, "POST", at, add, 409, keyReused, "Idempotency-Key", "键")
		}
		s.expect(t, rootUser, "POST", "/admin/foods/2/stock", `{"add":1}`, 200, food(2, 11))
		s.expectNow(t, rootUser, "GET", "/admin/log", "", 200, `[`+
			`{"at":"NOW","by":"terminal","what":"opened","pieces":50,"opens_at":null,"closes_at":null},`+
			`{"at":"NOW","by":"root","what":"stock","food_id":1,"add":5,"before":10,"after":15},`+
			`{"at":"NOW","by":"root","what":"stock","food_id":1,"add":-15,"before":15,"after":0},`+
			`{"at":"NOW","by":"root","what":"stock","food_id":2,"add":1,"before":10,"after":11}]`)
		found, err := s.cfg.Sale.Snapshot()
		testkit.Must(t, err)
		s.do(func() { s.Publish(found) })
		s.expectNow(t, 0, "GET", "/sale", "", 200, s.saleBody("open", "null", "null", 41, 0, 0))
	})
}

// With details an order has the time at which it was placed; without, the bodies are those of the contest.
func TestPlacedAt(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.expect(t, 2, "GET", "/orders?details=1", "", 200, "[]")
		s.expect(t, 2, "POST", "/orders", s.fill(t, 2, 1, 1), 200, s.orderID(2))
		order := fmt.Sprintf(`"items":[{"food_id":1,"count":1}],"total":%d`, s.price(1))
		own := fmt.Sprintf(`[{"id":"%s-2",%s`, s.cfg.Sale.ID(), order)
		every := fmt.Sprintf(`[{"id":"%s-2","user_id":2,%s`, s.cfg.Sale.ID(), order)
		s.expect(t, 2, "GET", "/orders", "", 200, own+"}]")
		s.expect(t, 2, "GET", "/orders?details=0", "", 200, own+"}]")
		s.expectNow(t, 2, "GET", "/orders?details=1", "", 200, own+`,"placed_at":"NOW"}]`)
		s.expect(t, rootUser, "GET", "/admin/orders", "", 200, every+"}]")
		s.expectNow(t, rootUser, "GET", "/admin/orders?details=1", "", 200, every+`,"placed_at":"NOW"}]`)
	})
}

// The snapshots of a sale bring the time of opening and the orders to GET /sale.
func TestSaleFollowsRedis(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		var opens time.Time
		testkit.Until(t, "a sale that opens soon", func() bool { // again where this machine is too slow for it
			s.do(func() { opens = time.Now().Add(200 * time.Millisecond) })
			status, _, _ := s.call(t, rootUser, "PUT", "/admin/sale",
				`{"state":"scheduled","opens_at":"`+opens.UTC().Format(time.RFC3339Nano)+`"}`)
			return status == 200
		})
		order := s.fill(t, 2, 1, 1)
		testkit.Until(t, "an order is placed", func() bool {
			status, _, _ := s.call(t, 2, "POST", "/orders", order)
			return status == 200
		})
		found, err := s.cfg.Sale.Snapshot()
		testkit.Must(t, err)
		s.do(func() { s.Publish(found) })
		var sale struct {
			State  string
			Orders int
			Opens  time.Time `json:"opens_at"`
		}
		_, body, _ := s.call(t, 0, "GET", "/sale", "")
		if err := json.Unmarshal([]byte(body), &sale); err != nil || sale.State != "open" || sale.Orders != 1 ||
			!sale.Opens.Equal(redisx.WholeMillisecond(opens)) {
			t.Errorf("%s, %v", body, err)
		}
		placed, err := s.cfg.Sale.Order(2)
		if err != nil || placed.Placed.Before(opens) {
			t.Errorf("placed at %v, %v; the sale opened at %v", placed.Placed, err, opens)
		}
	})
}
