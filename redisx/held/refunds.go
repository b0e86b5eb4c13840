package held

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

// Refund is a payment, or a part of one, that is due to be given back, or was given back.
type Refund struct {
	Sale    string
	ID      ID
	Payment string
	Amount  int64     // minor units
	Since   time.Time // when it was due, or when it was given back
	Reason  string
	Done    bool
}

// ErrNotListed means that the slice has no such payment in the list.
var ErrNotListed = errors.New("no such payment is in the list")

// Refunds lists payments of a slice that are due to be given back, the oldest first, or with done those that
// were given back, the last one first: at most so many, from behind the payment after, "" for the begin.
// Of those that are due it may be given back by now. Errors: ErrNotListed for after, redisx.ErrUnavailable.
func (o *Orders) Refunds(slice int, done bool, after string, most int) ([]Refund, error) {
	kind := "due"
	if done {
		kind = "done"
	}
	k := o.cfg.KeysOf(o.sale, slice)
	var list []string
	err := o.conns[slice].Do(refundsScript.Call(&list, keysOf(k, k.Holds), kind, after, strconv.Itoa(most)))
	switch {
	case err != nil:
		return nil, err
	case len(list)%3 != 1:
		return nil, fmt.Errorf("refunds.lua has answered with %d texts", len(list))
	case list[0] == "0":
		return nil, ErrNotListed
	}
	var refunds []Refund
	for rest := list[1:]; len(rest) > 0; rest = rest[3:] {
		r, err := parsePayment(rest[2])
		if err != nil {
			return nil, err
		}
		ms, err := strconv.ParseInt(rest[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("cannot read the time of a refund: %w", err)
		}
		r.Sale, r.Payment, r.Since, r.Done = o.sale, rest[0], time.UnixMilli(ms).UTC(), done
		refunds = append(refunds, r)
	}
	return refunds, nil
}

// parsePayment reads "user number amount state reason".
func parsePayment(text string) (r Refund, err error) {
	var state string
	if _, err = fmt.Sscanf(text, "%d %d %d %s", &r.ID.User, &r.ID.Number, &r.Amount, &state); err != nil {
		return r, fmt.Errorf("cannot read the payment %q: %w", text, err)
	}
	for range 4 { // the reason has words
		if _, text, _ = strings.Cut(text, " "); text == "" {
			break
		}
	}
	r.Reason = text
	return r, nil
}

// OwnerOf returns the order of a payment that a slice knows; ErrNone if it knows none.
func (o *Orders) OwnerOf(slice int, payment string) (ID, error) {
	var text string
	key := o.cfg.KeysOf(o.sale, slice).Payments
	err := o.conns[slice].Do(pipeline.Command(&radix.Maybe{Rcv: &text}, "HGET", key, payment))
	if err == nil && (text == "" || strings.Contains(payment, "/")) {
		err = ErrNone
	}
	if err != nil {
		return ID{}, err
	}
	r, err := parsePayment(text)
	return r.ID, err
}

// Due returns how many payments of a slice are due to be given back, and since when the oldest one is.
func (o *Orders) Due(slice int) (count int, oldest time.Time, err error) {
	key := o.cfg.KeysOf(o.sale, slice).Refunds
	var first []string
	err = o.conns[slice].Do(pipeline.Command(&count, "ZCOUNT", key, "(0", "+inf").
		Command(&first, "ZRANGEBYSCORE", key, "(0", "+inf", "WITHSCORES", "LIMIT", "0", "1"))
	if err != nil || len(first) != 2 {
		return count, oldest, err
	}
	ms, err := strconv.ParseFloat(first[1], 64)
	return count, time.UnixMilli(int64(ms)).UTC(), err
}

// Refunded notes that a payment was given back. Errors: ErrNoMoney, redisx.ErrUnavailable.
func (o *Orders) Refunded(id ID, payment string) error {
	var code int64
	err := o.do(refundedScript, &code, id.User, id.args(payment)...)
	if err == nil {
		err = outcome("refunded.lua", code, nil, ErrNoMoney)
	}
	return err
}
