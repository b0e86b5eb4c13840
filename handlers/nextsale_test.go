package handlers

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"flashsale/redisx"
	"flashsale/redisx/turnover"
)

// grantOf is what a test answers to a wish.
type grantOf struct {
	plan NextPlan
	err  error
}

// Operators look at the next sale and open it; every reason against it is told.
func TestNextSale(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		const path = "/admin/sale/next"
		told, wishes := make(chan grantOf, 1), make(chan NextWish, 1)
		s.join(NextSale(func(wish NextWish) (NextPlan, error) {
			wishes <- wish
			is := <-told
			return is.plan, is.err
		}))
		plan := NextPlan{Sale: "abcdefgh", Foods: 5, Pieces: 50, Users: 20, SameFoods: true}
		told <- grantOf{plan, nil}
		s.expect(t, rootUser, "GET", path, "", 200, `{"sale":"abcdefgh","next":"","foods":5,"pieces":50,`+
			`"users":20,"same_foods":true,"exported":false}`)
		if asked, want := <-wishes, (NextWish{Look: true}); asked != want {
			t.Errorf("asked for %+v, want %+v", asked, want)
		}
		plan.Next, plan.Exported = "hgfedcba", true
		told <- grantOf{plan, nil}
		const wish = `{"id":"abcdefgh","opens_at":"2100-01-02T03:04:05Z","closes_at":null}`
		s.expect(t, rootUser, "POST", path, wish, 200, `{"sale":"abcdefgh","next":"hgfedcba","foods":5,`+
			`"pieces":50,"users":20,"same_foods":true,"exported":true}`)
		opens := time.Date(2100, 1, 2, 3, 4, 5, 0, time.UTC)
		if asked, want := <-wishes, (NextWish{Sale: "abcdefgh", OpensAt: opens, By: "root"}); asked != want {
			t.Errorf("asked for %+v, want %+v", asked, want)
		}
		for bad, want := range strictBodies(`{"id":"abcdefgh"}`, "id", "opens_at", "closes_at") {
			s.expect(t, rootUser, "POST", path, bad, 400, want)
		}
		for _, bad := range []string{`{"id":7}`, `{"id":""}`, `{"id":null}`, `{"id":"a","opens_at":5}`} {
			s.expect(t, rootUser, "POST", path, bad, 400, malformed)
		}
		for _, bad := range []string{`{"id":"a","opens_at":"x"}`,
			`{"id":"a","opens_at":"2100-01-02T03:04:05Z","closes_at":"2100-01-02T03:04:05Z"}`} {
			s.expect(t, rootUser, "POST", path, bad, 400, badTimes)
		}
		if len(wishes) > 0 {
			t.Errorf("a bad body asks for %+v", <-wishes)
		}
		for _, test := range []struct {
			err    error
			status int
			want   string
		}{
			{turnover.ErrNotClosed, 409, `{"code":"SALE_NOT_CLOSED","message":"抢购尚未结束，请先结束"}`},
			{redisx.ErrOtherSale, 409, stateConflict},
			{turnover.ErrLedgerBehind, 409, `{"code":"LEDGER_BEHIND","message":"仍有订单未写入账本，请稍后再试"}`},
			{turnover.ErrOverAlready, 400, closesInPast},
			{redisx.ErrClocksDiffer, 409,
				`{"code":"SALE_CLOCKS_DIFFER","message":"Redis 时钟相差过大，无法定时"}`},
			{ErrNextBusy, 429, tooMany},
			{fmt.Errorf("%w: it is away", redisx.ErrUnavailable), 503, unavailable},
			{&NextFailedError{`line 3 of "foods.csv"`}, 409,
				`{"code":"NEXT_SALE_FAILED","message":"下一场未能开始：line 3 of \"foods.csv\""}`},
			{errors.New("a fault"), 500, `{"code":"INTERNAL_ERROR","message":"内部错误"}`},
		} {
			told <- grantOf{plan, test.err}
			s.expect(t, rootUser, "POST", path, `{"id":"abcdefgh"}`, test.status, test.want)
			<-wishes
		}
		told <- grantOf{plan, &NextFailedError{"no"}}
		s.expect(t, rootUser, "GET", path, "", 409,
			`{"code":"NEXT_SALE_FAILED","message":"The next sale cannot be opened: no"}`, "Accept-Language", "en")
		s.expect(t, 2, "POST", path, `{"id":"abcdefgh"}`, 403, notAllowed)
		s.expect(t, 2, "GET", path, "", 403, notAllowed)
		s.expect(t, 0, "GET", path, "", 401, invalidToken)
	})
}
