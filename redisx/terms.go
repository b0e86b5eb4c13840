package redisx

import (
	"errors"
	"strconv"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

// Outcomes of an order that a rule of a purchase refuses, see order_rules.lua.
var (
	ErrTooMany      = errors.New("more pieces of a food than the user may have")
	ErrTooEarly     = errors.New("the user may not buy a food yet")
	ErrTooLate      = errors.New("the user may not buy a food any longer")
	ErrNotListed    = errors.New("the user is not among those who may buy a food")
	ErrCouponNeeded = errors.New("a food needs a coupon")
	ErrHousehold    = errors.New("another of the user's household has an order")
	ErrCouponUsed   = errors.New("the coupon is used")
	ErrNoCoupon     = errors.New("there is no such coupon")
)

// refusals are these outcomes at their numbers in order_rules.lua.
var refusals = [...]error{nil, ErrTooMany, ErrTooEarly, ErrTooLate, ErrNotListed, ErrCouponNeeded,
	ErrHousehold, ErrCouponUsed, ErrNoCoupon}

const ruleCount = 16 // order_rules.lua returns the rule + ruleCount * the food

var errRefused = errors.New("a rule refuses the order")

// UnknownCoupon is the Coupon of an order with one that does not exist: only an order that was placed before
// under the same idempotency key succeeds with it.
var UnknownCoupon = []byte("?")

// Terms are the rules that concern an order. The zero Terms are no rules. Coupon is read only within the
// call that gets it.
type Terms struct {
	Household string // of the user, "" for none
	Coupon    []byte // that the order uses, empty for none
	Foods     string // ";food:most:times;...", see order_rules.lua
}

// append appends the argument of order.lua.
func (t *Terms) append(dst, idempotencyKey []byte) []byte {
	if none := t.Household == "" && len(t.Coupon) == 0 && t.Foods == ""; !none {
		dst = append(append(dst, t.Household...), '|')
		dst = append(append(dst, t.Coupon...), '|')
		dst = append(append(dst, t.Foods...), '\n')
	} else if len(idempotencyKey) > 0 {
		dst = append(dst, '\n')
	}
	return append(dst, idempotencyKey...)
}

// Refusal is one of these outcomes with its food.
type Refusal struct {
	Rule error
	Food int64 // 0 where no food is meant
}

// Error is that of the rule.
func (r *Refusal) Error() string { return r.Rule.Error() }

// Unwrap is the rule.
func (r *Refusal) Unwrap() error { return r.Rule }

// PlaceOrderUnder is PlaceOrder under terms, for a Config with Rules; naming makes it PlaceOrderNaming. It
// has more outcomes: those of this file, with naming as a *Refusal.
func (s *Sale) PlaceOrderUnder(
	terms Terms, user uint32, cart, idempotencyKey []byte, naming bool, then Outcome,
) {
	s.place(user, cart, idempotencyKey, terms, naming, then)
}

// refused is the outcome of an order that a rule refuses.
func (p *placement) refused(rule int64) error {
	food, number := rule/ruleCount, rule%ruleCount
	if number == 0 || number >= int64(len(refusals)) {
		return pipeline.UnknownCode("order_rules.lua", number)
	}
	if p.naming {
		return &Refusal{refusals[number], food}
	}
	return refusals[number]
}

// Used is how many households have an order, and how many coupons are used. Errors: ErrSaleGone,
// ErrUnavailable.
func (s *Sale) Used() (households, coupons int, err error) {
	var found presence
	texts := make([]string, 2)
	x := s.home().prove(pipeline.NewCall(), &found).Command(&radix.Tuple{&texts[0], &texts[1]}, "HMGET",
		s.home().keys.Used, "households", "coupons")
	if err := s.home().read(x, &found); err != nil {
		return 0, 0, err
	}
	households, _ = strconv.Atoi(texts[0]) // 0 without a number
	coupons, _ = strconv.Atoi(texts[1])
	return households, coupons, nil
}
