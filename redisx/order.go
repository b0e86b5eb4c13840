package redisx

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

// What order.lua returns.
const (
	orderPlaced       = 0
	orderHasOrder     = 1
	orderCartEmpty    = 2
	orderOutOfStock   = 3
	orderNoSale       = 4
	orderPlacedBefore = 5
	orderTooManyFoods = 6
	orderNotOpen      = 7
	orderPaused       = 8
	orderClosed       = 9
	orderReleased     = 10
	orderRefused      = 11 // by a rule, see order_rules.lua

	orderCodes  = 16 // the code is the rest of the division by it,
	orderBefore = 64 // the quotient's rest of the division by it the number of orders before, and then the rule
)

// Item is some pieces of a food.
type Item struct {
	Food, Count int64
}

// Order is what a user has bought, in the order in which the user first added the foods.
type Order struct {
	User   uint32
	Items  []Item
	Placed time.Time // by the clock of Redis, to the millisecond
	Hold   Hold      // of an order that is or was held, else the zero Hold
}

// HoldState is how far an order is that is held until it is paid.
type HoldState string

// The states. They go one way: held, paying, paid; or released, and from there refund_due and refunded, or
// paid after all. A paid order that root ends is refund_due, then refunded.
const (
	Held      HoldState = "held"
	Paying    HoldState = "paying" // a payment was opened
	Paid      HoldState = "paid"
	Released  HoldState = "released"   // the pieces went back
	RefundDue HoldState = "refund_due" // they went back, and the money must
	Refunded  HoldState = "refunded"
)

// Hold is the third line of an order, see order_held.lua.
type Hold struct {
	State   HoldState
	Number  int       // of the user's orders before it
	Events  int       // of this order so far
	Till    time.Time // when the hold ends, or when it ended
	Payment string    // id of the last payment, "" for none
	Reason  string    // why it was released, "" for no reason
}

// parseHold reads the third line of an order and what stands behind it.
func parseHold(text string) (h Hold, err error) {
	line, reason, _ := strings.Cut(text, "\n")
	h.Reason = reason
	var till int64
	_, err = fmt.Sscanf(line, "%s %d %d %d %s", &h.State, &h.Number, &h.Events, &till, &h.Payment)
	if err != nil {
		return Hold{}, fmt.Errorf("cannot read the state %q of an order: %w", line, err)
	}
	h.Till, h.Payment = timeOf(till), strings.TrimPrefix(h.Payment, "-")
	return h, nil
}

// AppendOrderID appends the id of a user's order, "<sale>-<user>"; where the user had orders before that
// were released, "<sale>-<user>-<before>". It is unique over all sales, because a user has one order at a
// time, and is not stored. It does not allocate.
func AppendOrderID(dst []byte, sale string, user uint32, before int) []byte {
	dst = append(append(dst, sale...), '-')
	dst = strconv.AppendUint(dst, uint64(user), 10)
	if before > 0 {
		dst = strconv.AppendInt(append(dst, '-'), int64(before), 10)
	}
	return dst
}

// ParseOrderID is the reverse of AppendOrderID, for the id of a sale that NewID may have made. Anything that
// AppendOrderID would not write is refused: a provider of payments may serve other programs, with ids of
// their own.
func ParseOrderID(id string) (sale string, user uint32, before int, ok bool) {
	sale, rest, _ := strings.Cut(id, "-")
	text, number, _ := strings.Cut(rest, "-")
	n, err := strconv.ParseUint(text, 10, 32)
	if before, _ = strconv.Atoi(number); err != nil || before < 0 || !isSaleID(sale) {
		return "", 0, 0, false
	}
	return sale, uint32(n), before, string(AppendOrderID(nil, sale, uint32(n), before)) == id
}

// Numbered is an Outcome of an order that wants to know how many orders the user has had before, if any:
// those that were released. It is told before Done.
type Numbered interface{ Number(before int) }

// PlaceOrder turns the user's cart into the user's order and takes all its pieces from the stock, or none. A
// second call with the same idempotency key (any bytes; empty for none) succeeds without an effect. Outcome:
// nil, ErrHasOrder, ErrNotOpen, ErrPaused, ErrClosed, ErrCartEmpty, ErrOutOfStock, ErrSaleGone (nothing is
// changed), ErrUnavailable (unknown).
func (s *Sale) PlaceOrder(user uint32, cart, idempotencyKey []byte, then Outcome) {
	s.place(user, cart, idempotencyKey, Terms{}, false, then)
}

func (s *Sale) place(user uint32, cart, idempotencyKey []byte, terms Terms, naming bool, then Outcome) {
	p := placements.Get().(*placement)
	if s.cfg.Rules {
		p.arg = terms.append(p.arg[:0], idempotencyKey)
		idempotencyKey = p.arg
	}
	p.slice, p.user, p.naming, p.then = s.of(user), user, naming, then
	p.begin, p.waits = time.Time{}, 0
	if s.mover != nil || naming {
		p.cart, p.key = append(p.cart[:0], cart...), append(p.key[:0], idempotencyKey...)
	}
	p.send(cart, idempotencyKey)
}

// placement is an order under way.
type placement struct {
	slice *slice
	user  uint32
	then  Outcome
	begin time.Time // all tries together are answered within the timeout

	arg       []byte // with rules: the terms and the key
	cart, key []byte // for another try; only with several slices, or naming
	waits     int    // how often it has waited for the mover

	naming bool    // the refusal names the foods that it lacks
	found  []int64 // of order_lacking.lua
	lacks  []Lack
}

var placements = sync.Pool{New: func() any { return &placement{} }}

// send sends the order to Redis.
func (p *placement) send(cart, idempotencyKey []byte) {
	var scratch [40]byte
	keys := &p.slice.keys
	x := p.slice.orders.Call().Since(p.begin).Arg(idempotencyKey)
	x.Key(keys.order(scratch[:0], p.user)).Key(keys.cart(scratch[:0], cart))
	if err := p.slice.change(x, p); err != nil {
		p.end(err)
	}
}

// end reports the outcome.
func (p *placement) end(err error) {
	if p.naming && err == ErrOutOfStock {
		err = &OutOfStock{p.lacks}
	}
	p.lacks = nil
	then := p.then
	p.slice, p.then = nil, nil
	placements.Put(p)
	then.Done(err)
}

// Complete reads the result of order.lua. If this slice has too few pieces, other slices may have them.
func (p *placement) Complete(x *pipeline.Call) {
	code, err := x.Result()
	p.begin = x.Begin()
	x.Free()
	if err == nil {
		err = p.slice.orderOutcome(p.user, code%orderCodes)
	}
	if err == errRefused {
		err = p.refused(code / (orderCodes * orderBefore))
	} else if code >= orderCodes {
		if numbered, ok := p.then.(Numbered); ok {
			numbered.Number(int(code / orderCodes))
		}
	}
	if m := p.slice.sale.mover; m != nil && err == ErrOutOfStock {
		if m.add(p) {
			return
		}
		err = ErrUnavailable // other slices may have the pieces
	}
	if p.naming && err == ErrOutOfStock {
		p.look()
		return
	}
	p.end(err)
}

func (x *slice) orderOutcome(user uint32, code int64) error {
	switch code {
	case orderPlaced:
		x.sale.cfg.Figures.OrdersPlaced.Inc()
		return nil
	case orderPlacedBefore:
		return nil
	case orderHasOrder:
		return ErrHasOrder
	case orderCartEmpty:
		return ErrCartEmpty
	case orderOutOfStock:
		return ErrOutOfStock
	case orderNoSale:
		return x.missed()
	case orderTooManyFoods:
		return fmt.Errorf("cannot place order of user %d: "+
			"its cart holds more foods than order.lua takes", user)
	case orderNotOpen:
		return ErrNotOpen
	case orderPaused:
		return ErrPaused
	case orderClosed:
		return ErrClosed
	case orderReleased:
		return ErrReleased
	case orderRefused:
		return errRefused
	}
	return pipeline.UnknownCode("order.lua", code)
}

// Order returns what the user has bought: an Order without items if the user has no order.
func (s *Sale) Order(user uint32) (Order, error) {
	var found presence
	var value []byte
	part := s.of(user)
	key := part.keys.order(nil, user)
	x := part.prove(pipeline.NewCall(), &found).Command(&radix.Maybe{Rcv: &value}, "GET", string(key))
	if err := part.read(x, &found); err != nil || value == nil {
		return Order{User: user}, err
	}
	return ParseOrder(user, value, s.foods)
}

// ParseOrder reads the value of an order of foods 1 to foods: items, "|", an idempotency key, a line feed,
// and the time of the order.
func ParseOrder(user uint32, value []byte, foods int) (Order, error) {
	text, behind, _ := bytes.Cut(value, []byte("|"))
	items, err := ParseItems(text, foods)
	if err != nil {
		return Order{}, err
	}
	_, times, _ := bytes.Cut(behind, []byte("\n"))
	placed, line, held := bytes.Cut(times, []byte("\n"))
	ms, err := strconv.ParseInt(string(placed), 10, 64)
	if err != nil {
		return Order{}, fmt.Errorf("cannot read when the order was placed: %w", err)
	}
	order := Order{User: user, Items: items, Placed: timeOf(ms)}
	if !held {
		return order, nil
	}
	if order.Hold, err = parseHold(string(line)); err != nil {
		return Order{}, err
	}
	return order, nil
}

// ParseItems reads "food:count,food:count," of foods 1 to foods, with or without spaces between and behind
// the items.
func ParseItems(value []byte, foods int) ([]Item, error) {
	list, ended := bytes.CutSuffix(bytes.TrimRight(value, " "), []byte(","))
	items := make([]Item, 0, CartMax)
	for field := range bytes.SplitSeq(list, []byte(",")) {
		food, count, found := bytes.Cut(bytes.TrimLeft(field, " "), []byte(":"))
		id, err1 := strconv.ParseInt(string(food), 10, 64)
		n, err2 := strconv.ParseInt(string(count), 10, 64)
		outside := id < 1 || id > int64(foods) || n < 1 || n > CartMax
		if !ended || !found || err1 != nil || err2 != nil || outside {
			return nil, fmt.Errorf("cannot read items %q: "+
				"want food:count,food:count, of foods 1 to %d", value, foods)
		}
		items = append(items, Item{Food: id, Count: n})
	}
	return items, nil
}
