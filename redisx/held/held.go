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

// outcome is the error of a code: the one at its place.
func outcome(script string, code int64, errs ...error) error {
	if code < 0 || code >= int64(len(errs)) {
		return pipeline.UnknownCode(script, code)
	}
	return errs[code]
}

// Slices is the number of slices of the sale.
func (o *Orders) Slices() int { return len(o.conns) }
