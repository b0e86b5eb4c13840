package held

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

// Payment is a payment that begins.
type Payment struct {
	Attempt int       // 1 for the first one of the order
	Begun   time.Time // when this one was begun first
	Till    time.Time // when the hold of the order ends
	Items   []redisx.Item
	Before  string // the payment that must be ended now, "" for none
}

// Pay begins a payment, which takes at most as long as the limit. The first one extends the hold. The one
// that was begun last is begun again until Payable or Unpayable has noted it. Errors: ErrNone, ErrPaid,
// ErrTooMany, redisx.ErrUnavailable.
func (o *Orders) Pay(id ID, limit time.Duration) (p Payment, err error) {
	var code, begun, till int64
	var items string
	err = o.do(payScript, &radix.Tuple{&code, &p.Attempt, &begun, &till, &items, &p.Before}, id.User,
		id.args(strconv.FormatInt(limit.Milliseconds(), 10), strconv.Itoa(PaymentsMax))...)
	if err == nil {
		err = outcome("pay.lua", code, nil, ErrNone, ErrPaid, ErrTooMany)
	}
	if err != nil {
		return Payment{}, err
	}
	p.Begun, p.Till, p.Before = time.UnixMilli(begun).UTC(), time.UnixMilli(till).UTC(), some(p.Before)
	p.Items, err = redisx.ParseItems([]byte(items), o.foods)
	return p, err
}

// some is the id of a payment, "" for "-".
func some(payment string) string { return strings.TrimPrefix(payment, "-") }

// Payable notes the payment that the provider has opened. When it returns false, that one must be ended: the
// order has a later payment, or is paid or released.
func (o *Orders) Payable(id ID, attempt int, payment string, amount int64) (payable bool, err error) {
	if err := checkPayment(payment); err != nil {
		return false, err
	}
	var code int64
	err = o.do(payableScript, &code, id.User,
		id.args(strconv.Itoa(attempt), payment, strconv.FormatInt(amount, 10))...)
	if err == nil && code != 0 && code != 1 {
		err = pipeline.UnknownCode("payable.lua", code)
	}
	return err == nil && code == 0, err
}

// Unpayable notes that the provider has refused to open a payment: the next one is another.
func (o *Orders) Unpayable(id ID, attempt int) error {
	var code int64
	err := o.do(payableScript, &code, id.User, id.args(strconv.Itoa(attempt), "-", "0")...)
	if err == nil {
		err = outcome("payable.lua", code, nil)
	}
	return err
}

const paymentMax = 200 // bytes of a provider's id

// IsID reports whether the provider's id of a payment, or of an event, is one that the scripts can keep and
// a URL can hold: at most 200 of a-z, A-Z, 0-9 and _-.: but not "-".
func IsID(id string) bool {
	return id != "" && id != "-" && len(id) <= paymentMax && !strings.ContainsFunc(id, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune("_-.:", r)
	})
}

func checkPayment(id string) error {
	if !IsID(id) {
		return fmt.Errorf("%w: %.50q", ErrBadID, id)
	}
	return nil
}

// Receipt is what the provider tells of a payment that was made.
type Receipt struct {
	Payment string
	Amount  int64         // minor units
	Items   []redisx.Item // what the order is
	Price   int64         // what they cost, minor units
}

// Settlement is what a receipt has led to.
type Settlement int

// The settlements; the numbers are those of paid.lua and paid_after.lua.
const (
	SettledPaid Settlement = iota
	SettledBefore
	SettledRefund // the money is due to be given back
	_
	SettledUnknown // it is, and the order is not kept: only by PaidAfter
)

// Paid notes a payment that was made. Errors: ErrNone, also for a payment of another order, and for one of 0
// that buys nothing; ErrChanged for an order with other items; redisx.ErrSaleGone, redisx.ErrUnavailable.
func (o *Orders) Paid(id ID, r Receipt) (s Settlement, err error) {
	if err := checkPayment(r.Payment); err != nil {
		return 0, err
	}
	var code int64
	err = o.do(paidScript, &code, id.User, id.args(r.Payment, strconv.FormatInt(r.Amount, 10),
		list(r.Items), strconv.FormatInt(r.Price, 10))...)
	if err == nil {
		err = outcome("paid.lua", code, nil, nil, nil, ErrNone, redisx.ErrSaleGone, ErrChanged)
	}
	return Settlement(code), err
}
