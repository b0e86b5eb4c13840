package held

import (
	"math"
	"strconv"
	"strings"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

// Of are the orders of another sale, one that has ended: for the methods of this file, Refunds and Refunded.
func (o *Orders) Of(sale string) *Orders {
	other := *o
	other.sale = sale
	return &other
}

// Home is the connection to the home slice.
func (o *Orders) Home() *pipeline.Conn { return o.conns[0] }

// FindAfter is Find for an order of a sale that has ended, of any foods. Error: redisx.ErrUnavailable.
func (o *Orders) FindAfter(id ID) (redisx.Order, error) {
	slice := o.cfg.SliceOf(id.User)
	k := o.cfg.KeysOf(o.sale, slice)
	var values [2][]byte
	x := pipeline.Command(&radix.Maybe{Rcv: &values[0]}, "HGET", k.Past, id.args()[0]).
		Command(&radix.Maybe{Rcv: &values[1]}, "HGET", k.Released, strings.Join(id.args(), "-"))
	if err := o.conns[slice].Do(x); err != nil {
		return redisx.Order{}, err
	}
	return pick(id, math.MaxInt32, values[:]...)
}

// PaidAfter is Paid for an order of a sale that has ended. Errors: ErrNone for a payment of another order,
// redisx.ErrUnavailable.
func (o *Orders) PaidAfter(id ID, r Receipt) (s Settlement, err error) {
	if err := checkPayment(r.Payment); err != nil {
		return 0, err
	}
	var code int64
	err = o.do(paidAfterScript, &code, id.User, id.args(r.Payment, strconv.FormatInt(r.Amount, 10), Unknown)...)
	if err == nil {
		err = outcome("paid_after.lua", code, nil, nil, nil, ErrNone, nil)
	}
	return Settlement(code), err
}

// CancelAfter ends a paid order of a sale that has ended, for an operator. It returns what is due to be
// given back. Errors: ErrNone, also for an order that is not paid; redisx.ErrUnavailable, also before the
// sale has ended.
func (o *Orders) CancelAfter(id ID, by, why string) (owed Owed, err error) {
	var code int64
	reply := &radix.Tuple{&code, &owed.Payment, &owed.Amount}
	err = o.do(cancelAfterScript, reply, id.User, id.args(by, why)...)
	if err == nil {
		err = outcome("cancel_after.lua", code, nil, ErrNone, redisx.ErrUnavailable)
	}
	owed.Payment = some(owed.Payment)
	return owed, err
}
