package redisx

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// placeUnder orders the cart under terms, and returns the food that a rule refuses.
func (s *Sale) placeUnder(terms Terms, user uint32, cart []byte, key string) (food int64, err error) {
	err = s.await(func(then Outcome) { s.PlaceOrderUnder(terms, user, cart, []byte(key), true, then) })
	if refusal, ok := err.(*Refusal); ok {
		return refusal.Food, refusal.Rule
	}
	return 0, err
}

// Each line is an order of user 2 from a cart: its terms, what was used before, its outcome with the food,
// and what is used afterwards. "past", "later" and "never" in the terms are times.
func TestTerms(t *testing.T) {
	later := fmt.Sprint(time.Now().Add(time.Hour).UnixMilli())
	times := strings.NewReplacer("past", "1700000000000", "later", later, "never", "99999999999999")
	for _, tc := range []struct {
		name      string
		terms     Terms
		cart      string
		used      string // fields and values
		want      error
		food      int64
		usedAfter string
	}{
		{"no rule", Terms{}, "1:2,", "", nil, 0, ""},
		{"rules of other foods", Terms{Foods: ";3:1:!"}, "1:2,2:1,", "", nil, 0, ""},
		{"as many as the user may", Terms{Foods: ";1:2:"}, "1:2,", "", nil, 0, ""},
		{"more", Terms{Foods: ";1:2:"}, "1:3,", "", ErrTooMany, 1, ""},
		{"more in two changes", Terms{Foods: ";1:1:"}, "1:1,1:1,", "", ErrTooMany, 1, ""},
		{"more of the second food", Terms{Foods: ";1:1:;2:1:"}, "1:1,2:2,", "", ErrTooMany, 2, ""},
		{"more of the third food", Terms{Foods: ";3:0:"}, "1:1,2:1,3:1,", "", ErrTooMany, 3, ""},
		{"more of all others", Terms{Foods: ";2:3:;*:1:"}, "2:1,1:2,", "", ErrTooMany, 1, ""},
		{"one of its own, not of all others", Terms{Foods: ";2:3:;*:1:"}, "2:3,", "", nil, 0, ""},
		{"another food's number", Terms{Foods: ";11:1:!"}, "1:1,", "", nil, 0, ""},
		{"too early", Terms{Foods: ";1::later-"}, "1:1,", "", ErrTooEarly, 1, ""},
		{"in time", Terms{Foods: ";1::past-later"}, "1:1,", "", nil, 0, ""},
		{"in time, without begin", Terms{Foods: ";1:1:-later"}, "1:1,", "", nil, 0, ""},
		{"in time, without end", Terms{Foods: ";1:1:past-"}, "1:1,", "", nil, 0, ""},
		{"in time, too many", Terms{Foods: ";1:1:past-"}, "1:2,", "", ErrTooMany, 1, ""},
		{"too late", Terms{Foods: ";1::-past"}, "1:1,", "", ErrTooLate, 1, ""},
		{"between two times", Terms{Foods: ";1::-past,later-never"}, "1:1,", "", ErrTooEarly, 1, ""},
		{"in the second time", Terms{Foods: ";1::-past,past-later"}, "1:1,", "", nil, 0, ""},
		{"not listed", Terms{Foods: ";1::!"}, "1:1,", "", ErrNotListed, 1, ""},
		{"needs a coupon", Terms{Foods: ";1::?"}, "2:1,1:1,", "", ErrCouponNeeded, 1, ""},
		{"household", Terms{Household: "smith"}, "1:1,", "", nil, 0, "h:smith:2-0 households:1"},
		{"household has one", Terms{Household: "smith"}, "1:1,", "h:smith 3-0", ErrHousehold, 0, "h:smith:3-0"},
		{"coupon", Terms{Coupon: []byte("AB-1")}, "1:1,", "", nil, 0, "c:AB-1:2-0 coupons:1"},
		{"coupon used", Terms{Coupon: []byte("AB-1")}, "1:1,", "c:AB-1 3-0", ErrCouponUsed, 0, "c:AB-1:3-0"},
		{"a household named as a limit", Terms{"flat;1:9:;*:x", []byte("AB-1"), ";1:2:"}, "1:3,", "",
			ErrTooMany, 1, ""},
		{"a household with a part of one", Terms{"flat;1:x", nil, ";1:2:"}, "1:2,", "", nil, 0,
			"h:flat;1:x:2-0 households:1"},
		{"unknown coupon", Terms{Coupon: UnknownCoupon}, "1:1,", "", ErrNoCoupon, 0, ""},
		{"all of them", Terms{"smith", []byte("AB-1"), ";1:1:past-later"}, "1:1,", "c:AB-2 3-0 h:jones 3-0",
			nil, 0,
			"c:AB-1:2-0 c:AB-2:3-0 coupons:1 h:jones:3-0 h:smith:2-0 households:1"},
		{"nothing is used without stock", Terms{"smith", []byte("AB-1"), ""}, "4:1,", "", ErrOutOfStock, 0, ""},
		{"nothing is used without a cart", Terms{"smith", []byte("AB-1"), ""}, "", "", ErrCartEmpty, 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, cfg Config) {
				cfg.Rules = true
				s := open(t, cfg, 9, 9, 9, 0)
				cart, used := cartName(2), s.home().keys.Used
				if tc.cart != "" {
					raw(t, cfg, nil, "SET", "c_"+string(cart), tc.cart, "EX", "100")
				}
				if tc.used != "" {
					raw(t, cfg, nil, append([]string{"HSET", used}, strings.Fields(tc.used)...)...)
				}
				tc.terms.Foods = times.Replace(tc.terms.Foods)
				food, err := s.placeUnder(tc.terms, 2, cart, "k")
				if !errors.Is(err, tc.want) || tc.want == nil && err != nil || food != tc.food {
					t.Errorf("%v of food %d, want %v of %d", err, food, tc.want, tc.food)
				}
				if got := fieldsOf(t, cfg, used); got != tc.usedAfter {
					t.Errorf("used: %s, want %s", got, tc.usedAfter)
				}
				order := hidePlaced(rawString(t, cfg, "GET", "o_2"))
				if placed := order == tc.cart+"|k@"; placed != (tc.want == nil) {
					t.Errorf("order %q", order)
				}
				if tc.want != nil {
					if got := rawString(t, cfg, "GET", "c_"+string(cart)); got != tc.cart {
						t.Errorf("the cart is %q, want %q", got, tc.cart)
					}
					return
				}
				for _, terms := range []Terms{tc.terms, {Coupon: UnknownCoupon}} {
					if _, err := s.placeUnder(terms, 2, cart, "k"); err != nil {
						t.Errorf("again under the same key with %+v: %v", terms, err)
					}
				}
			})
		})
	}
}

// fieldsOf is a hash as "field:value field:value", by field.
func fieldsOf(tb testing.TB, cfg Config, key string) string {
	tb.Helper()
	fields := map[string]string{}
	raw(tb, cfg, &fields, "HGETALL", key)
	text := fmt.Sprint(fields) // sorts
	return text[len("map[") : len(text)-1]
}

// Of two hundred users with one coupon, and two hundred of one household, on several connections, one gets
// an order.
func TestTermsOnce(t *testing.T) {
	const users, conns = 200, 4
	for name, terms := range map[string]Terms{"coupon": {Coupon: []byte("AB-1")},
		"household": {Household: "smith"}} {
		t.Run(name, func(t *testing.T) {
			cfg := unix(redistest.Start(t))
			cfg.Rules = true
			sales := []*Sale{open(t, cfg, 2*users)}
			for len(sales) < conns {
				sales = append(sales, joinSale(t, cfg, sales[0].ID(), 1))
			}
			for user := range users {
				testkit.Must(t, sales[0].addToCart(uint32(user+2), cartName(user), 1, 1))
			}
			var all sync.WaitGroup
			outcomes := make(chan error, users)
			for user := range users {
				all.Go(func() {
					_, err := sales[user%conns].placeUnder(terms, uint32(user+2), cartName(user), "")
					outcomes <- err
				})
			}
			all.Wait()
			close(outcomes)
			got := map[error]int{}
			for err := range outcomes {
				got[err]++
			}
			refused := map[string]error{"coupon": ErrCouponUsed, "household": ErrHousehold}[name]
			if got[nil] != 1 || got[refused] != users-1 {
				t.Errorf("outcomes %v, want one order", got)
			}
			stock, err := sales[0].stock()
			if err != nil || stock[0] != 2*users-1 {
				t.Errorf("stock %v, %v", stock, err)
			}
			households, coupons, err := sales[0].Used()
			if err != nil || households+coupons != 1 {
				t.Errorf("used: %d households and %d coupons, %v", households, coupons, err)
			}
		})
	}
}

// An order that waits for pieces of other slices keeps its terms.
func TestTermsWithSlices(t *testing.T) {
	cfg := unix(redistest.Start(t))
	cfg.Rules, cfg.Slices = true, 3
	s := open(t, cfg, 3)
	cart := cartName(2)
	testkit.Must(t, s.addToCart(2, cart, 1, 3))
	food, err := s.placeUnder(Terms{Foods: ";1:2:"}, 2, cart, "k")
	if !errors.Is(err, ErrTooMany) || food != 1 {
		t.Errorf("%v of food %d, want %v", err, food, ErrTooMany)
	}
	_, err = s.placeUnder(Terms{Foods: ";1:3:"}, 2, cart, "k")
	testkit.Wants(t, "an order of all pieces", err, nil)
}

// A sale without rules pays nothing for them.
func TestUnruledScript(t *testing.T) {
	for _, s := range []string{unruled(orderLua), orderFinalLua, orderHeldLua} {
		for _, word := range []string{"terms", "check(", "use(", "rules\n"} {
			if strings.Contains(s, word) {
				t.Errorf("a script without rules has %q:\n%s", word, s)
			}
		}
	}
	if strings.Count(orderLua, " -- with rules\n") != 3 {
		t.Error("order.lua has other lines with rules than this test knows")
	}
}
