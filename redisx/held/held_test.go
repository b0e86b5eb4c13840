package held

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx"
)

var (
	one   = redisx.Item{Food: 1, Count: 1}
	two   = redisx.Item{Food: 1, Count: 2}
	other = redisx.Item{Food: 2, Count: 1}
)

func (s *stand) receipt(id ID, payment string, amount int64) Settlement {
	s.Helper()
	order, err := s.orders.Find(id)
	testkit.Must(s, err)
	got, err := s.orders.Paid(id, Receipt{Payment: payment, Amount: amount, Items: order.Items, Price: 10})
	testkit.Must(s, err)
	return got
}

// pay opens a payment with an amount of 10.
func (s *stand) pay(id ID, payment string) {
	s.Helper()
	p, err := s.orders.Pay(id, time.Hour)
	testkit.Must(s, err)
	payable, err := s.orders.Payable(id, p.Attempt, payment, 10)
	testkit.Must(s, err)
	if !payable {
		s.Errorf("payment %s is not payable", payment)
	}
}

// Amounts are exact up to three pieces at the highest price, 10^15.
func TestLargeAmounts(t *testing.T) {
	onEach(t, func(t *testing.T, cfg redisx.Config) {
		s := newStand(t, cfg, 9, 9)
		const price = 1_000_000_000_000_000
		items := []redisx.Item{two, other}
		id := s.must(2, items...)
		_, err := s.orders.Paid(id, Receipt{Payment: "p1", Amount: 3*price - 1, Items: items, Price: 3*price - 1})
		testkit.Must(t, err)
		_, owed, err := s.orders.Shrink(id, "ann", "why", items, []redisx.Item{one, other}, price-1)
		s.want("shrink", fmt.Sprint(owed, err), "{p1~3 999999999999999} <nil>")
		_, owed, err = s.orders.Cancel(id, "ann", "why")
		s.want("cancel", fmt.Sprint(owed, err), "{p1 2000000000000000} <nil>")
		list, err := s.orders.Refunds(0, false, "", 9)
		testkit.Must(t, err)
		sum := int64(0)
		for _, r := range list {
			sum += r.Amount
		}
		s.want("all", sum, int64(3*price-1))
	})
}

// What an order has used is free again when it is released, and used again when it is paid late.
func TestReleasedOrderGivesUp(t *testing.T) {
	onEach(t, func(t *testing.T, cfg redisx.Config) {
		cfg.Rules = true
		s := newStand(t, cfg, 9, 9)
		terms := redisx.Terms{Household: "smith", Coupon: []byte("AB-1")}
		under := func(what string, user uint32, want error) ID {
			t.Helper()
			id, err := s.placeUnder(terms, user, one)
			s.wantError(what, err, want)
			return id
		}
		used := func(want string) {
			t.Helper()
			households, coupons, err := s.sale.Used()
			testkit.Must(t, err)
			var holder string
			s.raw(&holder, "HGET", s.keys.Used, "c:AB-1")
			s.want("used", fmt.Sprint(households, coupons, " ", holder), want)
		}
		first := under("first", 2, nil)
		under("another", 3, redisx.ErrHousehold)
		used("1 1 2-0")
		s.pay(first, "p1")
		s.expire(2)
		used("0 0 ")
		s.want("late", s.receipt(first, "p1", 10), SettledPaid)
		used("1 1 2-0")
		under("another, after the late payment", 3, redisx.ErrHousehold)
		_, _, err := s.orders.Cancel(first, "ann", "returned")
		testkit.Must(t, err)
		second := under("another, after the return", 3, nil)
		used("1 1 3-0")
		s.pay(second, "p2")
		s.expire(3)
		third := under("the first user again", 2, nil)
		s.want("number", third, ID{2, 1})
		s.want("late, but used", s.receipt(second, "p2", 10), SettledRefund)
		used("1 1 2-1")
		if got := s.events()[len(s.events())-1]; got != "3-0 4 refund_due (rule)" {
			t.Errorf("the last event is %s", got)
		}
	})
}

// A payment buys only its own order, at the price of what that is then. Payments that the provider did not
// open do not count.
func TestPaymentFitsItsOrder(t *testing.T) {
	onEach(t, func(t *testing.T, cfg redisx.Config) {
		s := newStand(t, cfg, 9, 9)
		first, err := s.place(2, []redisx.Item{two})
		testkit.Must(t, err)
		second, err := s.place(3, []redisx.Item{one})
		testkit.Must(t, err)
		for i := range PaymentsMax + 2 {
			p, err := s.orders.Pay(first, time.Hour)
			testkit.Must(t, err)
			s.want("attempt", p.Attempt, i+1)
			testkit.Must(t, s.orders.Unpayable(first, p.Attempt))
		}
		s.pay(first, "p1")
		_, err = s.orders.Paid(second, Receipt{Payment: "p1", Amount: 10, Items: []redisx.Item{one}, Price: 10})
		s.wantError("the payment of another order", err, ErrNone)
		_, err = s.orders.Of("past").PaidAfter(second, Receipt{Payment: "p1", Amount: 10})
		testkit.Must(t, err) // the payments of another sale are its own
		begun, err := s.orders.Pay(first, time.Hour)
		testkit.Must(t, err)
		_, _, err = s.orders.Shrink(first, "ann", "why", []redisx.Item{two}, []redisx.Item{one}, 5)
		testkit.Must(t, err)
		payable, err := s.orders.Payable(first, begun.Attempt, "p2", 10) // for what the order was
		testkit.Must(t, err)
		s.want("payable", payable, false)
		receipt := Receipt{Payment: "p2", Amount: 10, Items: []redisx.Item{two}, Price: 10}
		s.expire(2)
		_, err = s.orders.Paid(first, receipt)
		s.wantError("a price of before", err, ErrChanged)
		receipt.Items, receipt.Price = []redisx.Item{one}, 5
		settled, err := s.orders.Paid(first, receipt)
		testkit.Must(t, err)
		s.want("paid for more", settled, SettledRefund)
	})
}

// Each line plays a story with an order of two pieces of food 1 and one of food 2, of which there are four
// and two, and tells the outcome, the order of user 2, all events, the stock and the refunds afterwards.
func TestStories(t *testing.T) {
	for _, tc := range []struct {
		name  string
		play  func(s *stand, id ID)
		order string // of the user, "" for none
		told  string // events behind "held"
		left  string
		due   string // payments to give back
	}{
		{"held", func(s *stand, id ID) {
			s.wantError("a second order", s.buy(2, []redisx.Item{one}), redisx.ErrHasOrder)
		}, "1:2,2:1, held 0", "", "2 1 held 3 orders 1", ""},
		{"paid", func(s *stand, id ID) {
			s.pay(id, "p1")
			s.want("first receipt", s.receipt(id, "p1", 10), SettledPaid)
			s.want("again", s.receipt(id, "p1", 10), SettledBefore)
			s.expire(2) // nothing is due
			_, _, err := s.orders.Cancel(id, "", "no wish")
			s.wantError("cancel", err, ErrPaid)
			_, err = s.orders.Pay(id, time.Hour)
			s.wantError("pay again", err, ErrPaid)
		}, "1:2,2:1, paid 0 p1", "2 paying, 3 paid", "2 1 held 0 orders 1", ""},
		{"the buyer cancels", func(s *stand, id ID) {
			end, owed, err := s.orders.Cancel(id, "", "no wish")
			testkit.Must(s, err)
			s.want("cancel", fmt.Sprint(end, owed), "{ 0}")
			_, _, err = s.orders.Cancel(id, "", "no wish")
			s.wantError("cancel again", err, ErrNone)
			_, err = s.orders.Pay(id, time.Hour)
			s.wantError("pay", err, ErrNone)
		}, "", "2 released (no wish)", "4 2 held 0 orders 0", ""},
		{"expired while a payment is open, then a new order", func(s *stand, id ID) {
			s.pay(id, "p1")
			s.expire(2)
			s.want("the next order", s.must(2, one), ID{2, 1})
		}, "1:1, held 1", "2 paying, 3 released (expired), 1 held", "3 2 held 1 orders 1", ""},
		{"paid late", func(s *stand, id ID) {
			s.pay(id, "p1")
			s.expire(2)
			s.want("late", s.receipt(id, "p1", 10), SettledPaid)
			s.want("twice", s.receipt(id, "p1", 10), SettledBefore)
		}, "1:2,2:1, paid 0 p1", "2 paying, 3 released (expired), 4 paid", "2 1 held 0 orders 1", ""},
		{"paid after it was given back", func(s *stand, id ID) {
			s.pay(id, "p1")
			_, _, err := s.orders.Cancel(id, "", "buyer")
			testkit.Must(s, err)
			s.want("late", s.receipt(id, "p1", 10), SettledRefund)
		}, "", "2 paying, 3 released (buyer), 4 refund_due (cancelled)", "4 2 held 0 orders 0", "p1"},
		{"paid late, pieces gone", func(s *stand, id ID) {
			s.pay(id, "p1")
			s.expire(2)
			s.must(3, redisx.Item{Food: 1, Count: 3})
			s.want("late", s.receipt(id, "p1", 10), SettledRefund)
			s.want("twice", s.receipt(id, "p1", 10), SettledBefore)
		}, "", "2 paying, 3 released (expired), 1 held, 4 refund_due (sold out)", "1 2 held 3 orders 1", "p1"},
		{"paid late, another order", func(s *stand, id ID) {
			s.pay(id, "p1")
			s.expire(2)
			s.must(2, one)
			s.want("late", s.receipt(id, "p1", 10), SettledRefund)
			testkit.Must(s, s.orders.Refunded(id, "p1"))
			testkit.Must(s, s.orders.Refunded(id, "p1"))
			s.wantError("another payment", s.orders.Refunded(id, "p2"), ErrNoMoney)
		}, "1:1, held 1", "2 paying, 3 released (expired), 1 held, 4 refund_due (other order), 5 refunded",
			"3 2 held 1 orders 1", ""},
		{"paid late, sale closed", func(s *stand, id ID) {
			s.pay(id, "p1")
			s.expire(2)
			_, err := s.sale.Change(redisx.Change{By: "root", State: redisx.StateClosed})
			testkit.Must(s, err)
			s.want("late", s.receipt(id, "p1", 10), SettledRefund)
		}, "", "2 paying, 3 released (expired), 4 refund_due (closed)", "4 2 held 0 orders 0", "p1"},
		{"two payments, both paid", func(s *stand, id ID) {
			s.pay(id, "p1")
			p, err := s.orders.Pay(id, time.Hour)
			testkit.Must(s, err)
			s.want("second attempt", fmt.Sprint(p.Attempt, p.Before), "2p1")
			s.payable(id, 1, "p9", false)
			s.payable(id, 2, "p2", true)
			s.want("second", s.receipt(id, "p2", 10), SettledPaid)
			s.want("first", s.receipt(id, "p1", 10), SettledRefund)
		}, "1:2,2:1, paid 0 p2", "2 paying, 3 paid, 4 refund_due (ended)", "2 1 held 0 orders 1", "p1"},
		{"paid too little", func(s *stand, id ID) {
			s.pay(id, "p1")
			s.want("short", s.receipt(id, "p1", 9), SettledRefund)
		}, "1:2,2:1, paying 0 p1", "2 paying, 3 refund_due (amount)", "2 1 held 3 orders 1", "p1"},
		{"nothing is paid, in time and late", func(s *stand, id ID) {
			items := []redisx.Item{two, other}
			_, err := s.orders.Paid(id, Receipt{Payment: "p1", Items: items, Price: 10})
			s.wantError("less than the price", err, ErrNone)
			s.expire(2)
			s.must(2, one)
			_, err = s.orders.Paid(id, Receipt{Payment: "free", Items: items})
			s.wantError("late", err, ErrNone)
		}, "1:1, held 1", "2 released (expired), 1 held", "3 2 held 1 orders 1", ""},
		{"a receipt before the payment is noted", func(s *stand, id ID) {
			_, err := s.orders.Pay(id, time.Hour)
			testkit.Must(s, err)
			s.want("early", s.receipt(id, "p1", 10), SettledPaid)
			s.payable(id, 1, "p1", false)
		}, "1:2,2:1, paid 0 p1", "2 paying, 3 paid", "2 1 held 0 orders 1", ""},
		{"root ends a paid order", func(s *stand, id ID) {
			s.pay(id, "p1")
			s.receipt(id, "p1", 10)
			end, owed, err := s.orders.Cancel(id, "ann", "spoilt")
			testkit.Must(s, err)
			s.want("cancel", fmt.Sprint(end, owed), "{p1 10}")
			s.want("the event again", s.receipt(id, "p1", 10), SettledBefore)
		}, "", "2 paying, 3 paid, 4 refund_due (spoilt)", "4 2 held 0 orders 0", "p1"},
		{"root shrinks a paid order", func(s *stand, id ID) {
			s.pay(id, "p1")
			s.receipt(id, "p1", 10)
			end, owed, err := s.orders.Shrink(id, "ann", "spoilt", []redisx.Item{two, other}, []redisx.Item{one}, 6)
			testkit.Must(s, err)
			s.want("shrink", fmt.Sprint(end, owed), "{p1~4 6}")
		}, "1:1, paid 0 p1", "2 paying, 3 paid, 4 corrected (spoilt), 5 refund_due (spoilt)",
			"3 2 held 0 orders 1", "p1~4"},
		{"root shrinks a paid order, then ends it", func(s *stand, id ID) {
			s.pay(id, "p1")
			s.receipt(id, "p1", 10)
			_, _, err := s.orders.Shrink(id, "ann", "spoilt", []redisx.Item{two, other}, []redisx.Item{one}, 6)
			testkit.Must(s, err)
			_, _, err = s.orders.Cancel(id, "ann", "all spoilt")
			testkit.Must(s, err)
			var payments []string
			s.raw(&payments, "HMGET", s.keys.Payments, "p1", "p1~4")
			s.want("payments", fmt.Sprint(payments), "[2 0 4 refund_due all spoilt 2 0 6 refund_due spoilt]")
		}, "", "2 paying, 3 paid, 4 corrected (spoilt), 5 refund_due (spoilt), 6 refund_due (all spoilt)",
			"4 2 held 0 orders 0", "p1,p1~4"},
		{"paid too little, then once more", func(s *stand, id ID) {
			s.pay(id, "p1")
			s.receipt(id, "p1", 9)
			s.pay(id, "p2")
			s.want("whole", s.receipt(id, "p2", 10), SettledPaid)
			testkit.Must(s, s.orders.Refunded(id, "p1"))
		}, "1:2,2:1, paid 0 p2", "2 paying, 3 refund_due (amount), 4 paid, 5 refunded", "2 1 held 0 orders 1", ""},
		{"root shrinks a held order", func(s *stand, id ID) {
			s.pay(id, "p1")
			end, owed, err := s.orders.Shrink(id, "ann", "wrong", []redisx.Item{two, other}, []redisx.Item{two}, 6)
			testkit.Must(s, err)
			s.want("shrink", fmt.Sprint(end, owed), "p1{ 0}")
			_, _, err = s.orders.Shrink(id, "ann", "wrong", []redisx.Item{two, other}, []redisx.Item{two}, 6)
			s.wantError("again", err, ErrChanged)
			for _, after := range [][]redisx.Item{nil, {two}, {one, one}, {{Food: 1}}, {{Food: 1, Count: 3}},
				{other}} {
				_, _, err = s.orders.Shrink(id, "ann", "wrong", []redisx.Item{two}, after, 6)
				s.wantError("no part", err, ErrNotLess)
			}
		}, "1:2, paying 0", "2 paying, 3 corrected (wrong)", "2 2 held 2 orders 1", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, cfg redisx.Config) {
				s := newStand(t, cfg, 4, 2)
				tc.play(s, s.must(2, two, other))
				s.want("order", s.order(2), tc.order)
				var told []string
				for _, e := range s.events()[1:] {
					_, what, _ := strings.Cut(e, " ")
					told = append(told, what)
				}
				s.want("events", strings.Join(told, ", "), tc.told)
				s.want("stock", s.stock(), tc.left)
				var due []string
				s.raw(&due, "ZRANGEBYSCORE", s.keys.Refunds, "0", "+inf")
				slices.Sort(due)
				s.want("refunds", strings.Join(due, ","), tc.due)
			})
		})
	}
}

func (s *stand) want(what string, got, want any) {
	s.Helper()
	if got != want {
		s.Errorf("%s: %v, want %v", what, got, want)
	}
}

func (s *stand) payable(id ID, attempt int, payment string, want bool) {
	s.Helper()
	payable, err := s.orders.Payable(id, attempt, payment, 10)
	testkit.Must(s, err)
	s.want(payment+" payable", payable, want)
}

// stock is "left left held n orders n".
func (s *stand) stock() string {
	s.Helper()
	var fields []string
	s.raw(&fields, "HMGET", s.keys.Stock, "1", "2", "~1", "~2", "orders")
	var n [5]int
	for i, field := range fields {
		n[i], _ = strconv.Atoi(field) // "" where nothing was ever held
	}
	return fmt.Sprintf("%d %d held %d orders %d", n[0], n[1], n[2]+n[3], n[4])
}

// A user may not hold pieces again and again.
func TestReleasedTooOften(t *testing.T) {
	onEach(t, func(t *testing.T, cfg redisx.Config) {
		s := newStand(t, cfg, 4, 2)
		const most = 21 // the first one, and BEFORE_MAX after it
		for i := range most {
			id := s.must(2, one)
			s.want("number", id, ID{2, i})
			_, _, err := s.orders.Cancel(id, "", "")
			testkit.Must(t, err)
		}
		s.wantError("once more", s.buy(2, []redisx.Item{one}), redisx.ErrReleased)
		s.want("stock", s.stock(), "4 2 held 0 orders 0")
	})
}

// An order of a released number is unknown to every call.
func TestUnknownOrders(t *testing.T) {
	onEach(t, func(t *testing.T, cfg redisx.Config) {
		s := newStand(t, cfg, 4, 2)
		s.must(2, one)
		for _, id := range []ID{{2, 1}, {3, 0}} {
			_, err := s.orders.Pay(id, time.Hour)
			s.wantError("pay", err, ErrNone)
			_, _, err = s.orders.Cancel(id, "", "")
			s.wantError("cancel", err, ErrNone)
			_, _, err = s.orders.Shrink(id, "a", "b", []redisx.Item{two}, []redisx.Item{one}, 1)
			s.wantError("shrink", err, ErrNone)
			_, err = s.orders.Paid(id, Receipt{Payment: "p", Amount: 1, Price: 1})
			s.wantError("paid", err, ErrNone)
			s.wantError("refunded", s.orders.Refunded(id, "p"), ErrNoMoney)
		}
		for i := range PaymentsMax {
			for range 2 { // the provider may have it already
				p, err := s.orders.Pay(ID{2, 0}, time.Minute)
				testkit.Must(t, err)
				s.want("attempt", p.Attempt, i+1)
			}
			_, err := s.orders.Payable(ID{2, 0}, i+1, fmt.Sprint("p", i), 1)
			testkit.Must(t, err)
		}
		_, err := s.orders.Pay(ID{2, 0}, time.Minute)
		s.wantError("too many", err, ErrTooMany)
		s.raw(nil, "DEL", s.keys.Stock)
		_, err = s.orders.Release(0)
		s.wantError("release without the sale", err, redisx.ErrSaleGone)
		_, err = s.orders.Paid(ID{2, 0}, Receipt{Payment: "p", Amount: 1, Price: 1})
		s.wantError("paid without the sale", err, redisx.ErrSaleGone)
	})
}

// What is due is listed from the oldest on, what was given back from the last on. A payment for a sale that
// has ended is due once.
func TestRefunds(t *testing.T) {
	onEach(t, func(t *testing.T, cfg redisx.Config) {
		s := newStand(t, cfg, 4, 2)
		for i, payment := range []string{"a", "b", "c"} {
			id := s.must(uint32(i+2), one)
			s.receipt(id, payment, int64(i+1)) // too little
			s.raw(nil, "ZADD", s.keys.Refunds, fmt.Sprint(1_800_000_000_000+i), payment)
		}
		list := func(done bool, after string, most int) (found string) {
			refunds, err := s.orders.Refunds(0, done, after, most)
			if err != nil {
				return err.Error()
			}
			for _, r := range refunds {
				found += fmt.Sprintf("%d-%d %s %d %s, ", r.ID.User, r.ID.Number, r.Payment, r.Amount, r.Reason)
			}
			return found
		}
		s.want("all", list(false, "", 9), "2-0 a 1 amount, 3-0 b 2 amount, 4-0 c 3 amount, ")
		s.want("behind the first", list(false, "a", 1), "3-0 b 2 amount, ")
		s.want("behind the last", list(false, "c", 1), "")
		s.want("behind another", list(false, "x", 1), ErrNotListed.Error())
		s.want("done, behind one that is due", list(true, "a", 1), ErrNotListed.Error())
		s.want("none is done", list(true, "", 1), "")
		owner, err := s.orders.OwnerOf(0, "b")
		testkit.Must(t, err)
		testkit.Must(t, s.orders.Refunded(owner, "b"))
		s.want("done", list(true, "", 9), "3-0 b 2 amount, ")
		s.want("behind one that is done", list(false, "b", 9), "4-0 c 3 amount, ")
		s.want("done, behind it", list(true, "b", 9), "")
		s.want("due", list(false, "", 9), "2-0 a 1 amount, 4-0 c 3 amount, ")
		count, oldest, err := s.orders.Due(0)
		s.want("count", fmt.Sprint(count, oldest.IsZero(), err), "2 false <nil>")
		for _, unknown := range []string{"x", "2/0", "b/since"} {
			_, err = s.orders.OwnerOf(0, unknown)
			s.wantError("unknown", err, ErrNone)
		}

		past := s.orders.Of("past")
		for _, want := range []Settlement{SettledUnknown, SettledBefore} {
			settled, err := past.PaidAfter(ID{5, 0}, Receipt{Payment: "late", Amount: 9})
			testkit.Must(t, err)
			s.want("late", settled, want)
		}
		testkit.Must(t, past.Refunded(ID{5, 0}, "late"))
		s.wantError("of this sale", s.orders.Refunded(ID{5, 0}, "late"), ErrNoMoney)
	})
}
