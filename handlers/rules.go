package handlers

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/limits"
	"flashsale/internal/rooms/rules"
	"flashsale/redisx"
)

// rulesCalls are the calls about the rules of a purchase.
type rulesCalls struct{ *Server }

// Rules joins the rules of a purchase: orders are placed under them. The sale's Config must have Rules.
func Rules(room *rules.Rules) Room {
	return func(s *Server) []Route {
		s.rules = room
		r := rulesCalls{s}
		return []Route{
			{"GET", "/rules", s.user, quick, r.show},
			{"GET", "/admin/rules", s.viewsOrService, slow, r.showAll},
		}
	}
}

// foodRule is what holds for a user and a food.
type foodRule struct {
	Food    int64        `json:"food_id,omitempty"` // 0 for all foods without rules of their own
	Limit   *int         `json:"limit"`             // null for any number
	Windows []windowBody `json:"windows"`           // null for any time
	Listed  bool         `json:"listed"`
	Coupon  bool         `json:"coupon"`
}

type windowBody struct {
	From  *string `json:"from"`
	Until *string `json:"until"`
}

func foodRuleOf(f rules.Food) (b foodRule) {
	b = foodRule{Food: f.ID, Listed: f.Listed, Coupon: f.Coupon}
	if f.Limit >= 0 {
		b.Limit = &f.Limit
	}
	for _, w := range f.Windows {
		var one windowBody
		if !w.From.IsZero() {
			text := w.From.Format(milliseconds)
			one.From = &text
		}
		if !w.Until.IsZero() {
			text := w.Until.Format(milliseconds)
			one.Until = &text
		}
		b.Windows = append(b.Windows, one)
	}
	return b
}

// show sends what holds for the user.
func (r rulesCalls) show(ctx *fasthttp.RequestCtx, c Call) {
	view := r.rules.View(c.user)
	body := struct {
		Household *string    `json:"household"`
		Coupons   bool       `json:"coupons"` // there are some
		Others    foodRule   `json:"others"`
		Foods     []foodRule `json:"foods"`
	}{Coupons: r.rules.Set().Coupons() > 0, Others: foodRuleOf(view.Foods[0]), Foods: []foodRule{}}
	if view.Household != "" {
		body.Household = &view.Household
	}
	for _, f := range view.Foods[1:] {
		body.Foods = append(body.Foods, foodRuleOf(f))
	}
	text, _ := json.Marshal(body) // it can always be written
	replyRaw(ctx, text)
}

// showAll sends what is read and used, for operators.
func (r rulesCalls) showAll(ctx *fasthttp.RequestCtx, _ Call) {
	households, coupons, err := r.cfg.Sale.Used()
	if err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	set := r.rules.Set()
	text, _ := json.Marshal(struct { // it can always be written
		Version        string        `json:"version"` // the same on all servers that have read the same
		Lines          int           `json:"limits_and_windows"`
		Users          int           `json:"users"`
		Groups         []rules.Group `json:"groups"`
		Households     int           `json:"households"`
		HouseholdsUsed int           `json:"households_used"`
		Coupons        int           `json:"coupons"`
		CouponsUsed    int           `json:"coupons_used"`
	}{set.Version, set.Lines(), set.Users(), set.Groups(), set.Households(), households, set.Coupons(),
		coupons})
	replyRaw(ctx, text)
}

// placeUnder places an order under the rules. One with an unknown coupon goes to Redis, too: it may have
// been placed before.
func (s *Server) placeUnder(ctx *fasthttp.RequestCtx, c Call, cart, coupon, key []byte, naming bool) {
	who := limits.Who{ID: c.user}
	if len(coupon) > 0 && s.isRefused(ctx, limits.Coupon, who) {
		return
	}
	var scratch [rules.CodeMax]byte
	terms, known := s.rules.For(c.user, coupon, scratch[:])
	if !known { // now, or all guesses that wait for Redis would pass
		s.record(ctx, limits.Coupon, who, 1)
	}
	s.cfg.Sale.PlaceOrderUnder(terms, c.user, cart, key, naming, c.later(ctx, (*Server).placedUnder))
}

// placedUnder answers placeUnder.
func (s *Server) placedUnder(ctx *fasthttp.RequestCtx, a *answer) {
	if errors.Is(a.err, redisx.ErrCouponUsed) {
		s.record(ctx, limits.Coupon, limits.Who{ID: a.user}, 1)
	}
	s.placed(ctx, a)
}

// orderBody reads the body of placeOrder: a coupon only where there are rules.
func (s *Server) orderBody(ctx *fasthttp.RequestCtx) (cart, coupon []byte, f *failure) {
	members := [2]member{{name: "cart_id"}, {name: "coupon"}}
	n := 1
	if s.rules != nil {
		n = 2
	}
	if f := readContestBody(ctx.PostBody(), members[:n]); f != nil {
		return nil, nil, f
	}
	cart, ok := members[0].string()
	coupon, text := members[1].string()
	if !ok || members[1].kind != 0 && !text {
		return nil, nil, errMalformedJSON
	}
	return cart, coupon, nil
}

// replyRule refuses an order and tells the rule.
func (s *Server) replyRule(ctx *fasthttp.RequestCtx, user uint32, refusal *redisx.Refusal) {
	_, coupon, _ := s.orderBody(ctx)
	var rule any
	switch {
	case errors.Is(refusal, redisx.ErrNoCoupon):
		reply(ctx, errCouponUnknown)
		return
	case errors.Is(refusal, redisx.ErrHousehold):
		rule = struct {
			Household string `json:"household"`
		}{s.rules.View(user).Household}
	case errors.Is(refusal, redisx.ErrCouponUsed):
		rule = struct {
			Coupon string `json:"coupon"`
		}{string(coupon)}
	default:
		rule = foodRuleOf(s.rules.Food(user, coupon, refusal.Food))
	}
	f := failureOf(refusal)
	body := f.bodyFor(ctx)
	text, _ := json.Marshal(rule) // it can always be written
	b := append(slices.Clone(body[:len(body)-1]), `,"details":[`...)
	ctx.SetStatusCode(f.status)
	replyRaw(ctx, append(append(b, text...), "]}"...))
}
