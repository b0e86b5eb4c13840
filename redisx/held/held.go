// Package held decides about orders that are held until they are paid: what is due is released, payments are
// opened and noted, root corrects. Each decision is one script on the slice of the order's user. The package
// speaks to no provider of payments, and to Redis over connections of its own: no order waits for it.
package held

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

// Limits of one order.
const (
	PaymentsMax = 10 // that are opened for it
	releaseMost = 4  // orders that one call releases: Redis is busy for about 100 us
)

// Why an order was released; operators write reasons of their own.
const (
	ByBuyer = "buyer"   // gave it back
	Ended   = "ended"   // the next sale was opened by force
	Expired = "expired" // its hold was over; only such an order is sold again if it is paid late

	// Unknown is why money is due to be given back for an order of an ended sale that is not kept: there never
	// was one, or it was deleted.
	Unknown = "unknown order"
)

// Outcomes of a call.
var (
	ErrNone    = errors.New("there is no such order, or it was released")
	ErrPaid    = errors.New("the order is paid")
	ErrTooMany = errors.New("the order has had too many payments")
	ErrChanged = errors.New("the order is another one by now")
	ErrNoMoney = errors.New("no such payment is due to be given back")
	ErrNotLess = errors.New("what is left of an order must be a part of it")
	ErrBadID   = errors.New("the provider has a strange id for a payment")
)

// ID names an order: the user, and how many orders the user had before.
type ID struct {
	User   uint32
	Number int
}

// Orders are the held orders of a sale. Its methods are safe for concurrent use.
type Orders struct {
	cfg   redisx.Config
	sale  string
	foods int
	conns []*pipeline.Conn // of each slice
}

// New makes the Orders of a sale with the foods 1 to foods. Its calls are answered only while Run runs.
func New(cfg redisx.Config, sale string, foods int) *Orders {
	o := &Orders{cfg: cfg, sale: sale, foods: foods}
	byAddress := map[string]*pipeline.Conn{}
	for slice := range cfg.SliceCount() {
		redis := cfg.Slice(slice)
		name := redis.Address + " " + strconv.Itoa(redis.Slot)
		if byAddress[name] == nil {
			byAddress[name] = pipeline.New(redis, pipeline.Options{Scripts: scripts,
				Fence:  cfg.KeysOf(sale, slice).Fence,
				Outage: &pipeline.Outage{Effect: "held orders are neither paid nor released"}})
		}
		o.conns = append(o.conns, byAddress[name])
	}
	return o
}

// Up reports whether every Redis with a slice is connected.
func (o *Orders) Up() bool {
	return !slices.ContainsFunc(o.conns, func(conn *pipeline.Conn) bool { return !conn.Up() })
}

// Run keeps the connections until ctx ends, and returns nil then.
func (o *Orders) Run(ctx context.Context) error {
	var running sync.WaitGroup
	started := map[*pipeline.Conn]bool{}
	for _, conn := range o.conns {
		if !started[conn] {
			started[conn] = true
			running.Go(func() { _ = conn.Run(ctx) }) // nil
		}
	}
	running.Wait()
	return nil
}

// do runs a script on the slice of a user.
func (o *Orders) do(script *pipeline.Script, reply any, user uint32, args ...string) error {
	slice := o.cfg.SliceOf(user)
	k := o.cfg.KeysOf(o.sale, slice)
	return o.conns[slice].Do(script.Call(reply, keysOf(k, k.Order(user)), args...))
}

// keysOf are the KEYS of shared.lua.
func keysOf(k redisx.Keys, order string) []string {
	return []string{order, k.Stock, k.Holds, k.Released, k.Payments, k.Refunds, k.Events, k.Log, k.Gate, k.Used,
		k.Past, k.Marker}
}

func (id ID) args(more ...string) []string {
	return append([]string{strconv.FormatUint(uint64(id.User), 10), strconv.Itoa(id.Number)}, more...)
}

// Find reads an order, also one that was released. It has no items if there is no such order. Errors:
// redisx.ErrSaleGone, redisx.ErrUnavailable.
func (o *Orders) Find(id ID) (redisx.Order, error) {
	slice := o.cfg.SliceOf(id.User)
	k := o.cfg.KeysOf(o.sale, slice)
	var there int
	var values [3][]byte
	// It may be released between two of the commands, or paid late.
	x := pipeline.Command(&there, "EXISTS", k.Stock).
		Command(&radix.Maybe{Rcv: &values[0]}, "GET", k.Order(id.User)).
		Command(&radix.Maybe{Rcv: &values[1]}, "HGET", k.Released, strings.Join(id.args(), "-")).
		Command(&radix.Maybe{Rcv: &values[2]}, "GET", k.Order(id.User))
	if err := o.conns[slice].Do(x); err != nil {
		return redisx.Order{}, err
	}
	if there == 0 {
		return redisx.Order{}, redisx.ErrSaleGone
	}
	return pick(id, o.foods, values[:]...)
}

// pick returns the order among some values; it has no items if none is it.
func pick(id ID, foods int, values ...[]byte) (redisx.Order, error) {
	for _, value := range values {
		if value == nil {
			continue
		}
		order, err := redisx.ParseOrder(id.User, value, foods)
		if err != nil || order.Hold.Number == id.Number {
			return order, err
		}
	}
	return redisx.Order{User: id.User}, nil
}

// Release is what a sweep has released.
type Release struct {
	Orders int
	Late   time.Duration // since the first of their holds has ended
	More   bool          // more are due
}

// Release releases orders of a slice whose hold is over, at most releaseMost. Any number of callers may
// sweep. Errors: redisx.ErrSaleGone, redisx.ErrUnavailable.
func (o *Orders) Release(slice int) (r Release, err error) {
	var late int64
	k := o.cfg.KeysOf(o.sale, slice)
	err = o.conns[slice].Do(releaseDueScript.Call(&radix.Tuple{&r.Orders, &late}, keysOf(k, k.Holds),
		releaseArgs(k, "", Expired)...))
	switch {
	case err != nil:
		return Release{}, err
	case r.Orders < 0:
		return Release{}, redisx.ErrSaleGone
	}
	r.Late, r.More = time.Duration(late)*time.Millisecond, r.Orders == releaseMost
	return r, nil
}

// releaseArgs are the ARGV of release_due.lua.
func releaseArgs(k redisx.Keys, due, why string) []string {
	user, _, _ := strings.Cut(k.Order(0), "0")
	return []string{user, k.Tag, strconv.Itoa(releaseMost), due, why}
}

// ReleaseAll releases all held orders of a sale that is closed, on connections of its own. Errors: why Redis
// cannot be asked.
func ReleaseAll(ctx context.Context, cfg redisx.Config, sale, why string) error {
	for slice := range cfg.SliceCount() {
		if err := releaseSlice(ctx, cfg, sale, why, slice); err != nil {
			return fmt.Errorf("cannot release the held orders of sale %s: %w", sale, err)
		}
	}
	return nil
}

func releaseSlice(ctx context.Context, cfg redisx.Config, sale, why string, slice int) error {
	l, err := pipeline.Dial(ctx, cfg.Slice(slice))
	if err != nil {
		return err
	}
	defer l.Close()
	k := cfg.KeysOf(sale, slice)
	for released, late := 1, int64(0); released > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		x := releaseDueScript.Eval(&radix.Tuple{&released, &late}, keysOf(k, k.Holds),
			releaseArgs(k, "+inf", why)...)
		if err := l.Do(x, cfg.Timeout); err != nil {
			return err
		}
	}
	return nil
}

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

// outcome is the error of a code: the one at its place.
func outcome(script string, code int64, errs ...error) error {
	if code < 0 || code >= int64(len(errs)) {
		return pipeline.UnknownCode(script, code)
	}
	return errs[code]
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

// Slices is the number of slices of the sale.
func (o *Orders) Slices() int { return len(o.conns) }

// Owed is what is due to be given back after a change of a paid order; the zero value is nothing.
type Owed struct {
	Payment string // or a part of it
	Amount  int64  // minor units
}

// Cancel ends an order: for its buyer, where by is "", only one that is not paid. It returns the payment
// that must be ended now, "" for none, and what is due to be given back. Errors: ErrNone, ErrPaid,
// redisx.ErrUnavailable.
func (o *Orders) Cancel(id ID, by, why string) (end string, owed Owed, err error) {
	var code int64
	err = o.do(cancelScript, &radix.Tuple{&code, &end, &owed.Payment, &owed.Amount}, id.User,
		id.args(by, why)...)
	if err == nil {
		err = outcome("cancel.lua", code, nil, ErrNone, ErrPaid)
	}
	owed.Payment = some(owed.Payment)
	return some(end), owed, err
}

// Shrink takes pieces out of an order, for an operator: it was before and is left after; amount is due to be
// given back if it is paid. Results as of Cancel. Errors: ErrNone, ErrChanged, ErrNotLess,
// redisx.ErrUnavailable.
func (o *Orders) Shrink(id ID, by, why string, before, after []redisx.Item, amount int64) (
	end string, owed Owed, err error,
) {
	goes, left, err := less(before, after)
	if err != nil {
		return "", owed, err
	}
	var code int64
	err = o.do(shrinkScript, &radix.Tuple{&code, &end, &owed.Payment, &owed.Amount}, id.User,
		id.args(by, why, list(before), list(left), list(goes), strconv.FormatInt(amount, 10))...)
	if err == nil {
		err = outcome("shrink.lua", code, nil, ErrNone, ErrChanged)
	}
	owed.Payment = some(owed.Payment)
	return some(end), owed, err
}

// less is what goes from before to after, and what is left in the order of before; ErrNotLess if after is
// empty, the same, or no part of before.
func less(before, after []redisx.Item) (goes, left []redisx.Item, err error) {
	counts := map[int64]int64{}
	for _, item := range after {
		if item.Count < 1 || counts[item.Food] > 0 {
			return nil, nil, ErrNotLess
		}
		counts[item.Food] = item.Count
	}
	for _, item := range before {
		stays := counts[item.Food]
		if stays > 0 {
			left = append(left, redisx.Item{Food: item.Food, Count: stays})
		}
		switch {
		case stays > item.Count:
			return nil, nil, ErrNotLess
		case stays < item.Count:
			goes = append(goes, redisx.Item{Food: item.Food, Count: item.Count - stays})
		}
		delete(counts, item.Food)
	}
	if len(counts) > 0 || len(goes) == 0 || len(left) == 0 {
		return nil, nil, ErrNotLess
	}
	return goes, left, nil
}

func list(items []redisx.Item) string {
	var text strings.Builder
	for _, item := range items {
		fmt.Fprintf(&text, "%d:%d,", item.Food, item.Count)
	}
	return text.String()
}
