package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"flashsale/redisx"
	"flashsale/redisx/held"
	"flashsale/redisx/turnover"
)

const (
	correctionBodyMax = 4 << 10
	reasonMax         = 200 // characters
)

// correctionsCalls are what operators do about orders and money.
type correctionsCalls struct {
	*Server
	orders *held.Orders
}

// Corrections is the room of held orders that operators change, and of the money that is due to be given
// back.
func Corrections(orders *held.Orders) Room {
	return func(s *Server) []Route {
		r := correctionsCalls{s, orders}
		return []Route{
			{"PATCH", "/admin/orders/:id", s.operates, takes(correctionBodyMax), r.correct},
			{"GET", "/admin/refunds", s.viewsOrService, slow, r.list},
			{"POST", "/admin/refunds/:payment/done", s.operatesOrService, slow, r.done},
		}
	}
}

// correction is what an operator wants of an order.
type correction struct {
	reason string
	items  []redisx.Item // what is left of it; nil: it is cancelled
}

// readCorrection reads the body of a correction: a reason, and either items or the state "cancelled".
func readCorrection(body []byte) (w correction, f *failure) {
	members := [3]member{{name: "reason"}, {name: "state"}, {name: "items"}}
	if f := readBody(body, members[:]); f != nil {
		return w, f
	}
	reason, ok := members[0].string()
	if !ok || (members[1].kind == 0) == (members[2].kind == 0) {
		return w, errMalformedJSON
	}
	if w.reason = string(reason); !isReason(w.reason) {
		return w, errBadReason
	}
	if members[1].kind != 0 {
		if state, ok := members[1].string(); !ok || string(state) != "cancelled" {
			return w, errBadHoldState
		}
		return w, nil
	}
	var items []struct {
		Food  *int64 `json:"food_id"`
		Count *int64 `json:"count"`
	}
	strict := json.NewDecoder(bytes.NewReader(members[2].raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&items); err != nil || len(items) > redisx.CartMax {
		return w, errBadItems
	}
	w.items = []redisx.Item{}
	for _, item := range items {
		if item.Food == nil || item.Count == nil {
			return w, errBadItems
		}
		w.items = append(w.items, redisx.Item{Food: *item.Food, Count: *item.Count})
	}
	return w, nil
}

// isReason reports whether a text tells why an operator changes an order. The words of the server's own
// reasons are none.
func isReason(text string) bool {
	n := utf8.RuneCountInString(text)
	own := []string{held.Expired, held.ByBuyer, held.Ended, held.Unknown}
	return strings.TrimSpace(text) != "" && n <= reasonMax && !slices.Contains(own, text) &&
		!slices.ContainsFunc([]rune(text), func(c rune) bool { return !unicode.IsPrint(c) })
}

// correct cancels an order, or takes pieces out of it. A paid one of a sale that has ended can be cancelled.
func (r correctionsCalls) correct(ctx *fasthttp.RequestCtx, c Call) {
	sale, user, number, ok := redisx.ParseOrderID(c.param("id"))
	if !ok {
		reply(ctx, errNoOrder)
		return
	}
	wanted, f := readCorrection(ctx.PostBody())
	if f != nil {
		reply(ctx, f)
		return
	}
	if sale != r.cfg.Sale.ID() && wanted.items != nil {
		reply(ctx, errSaleEnded)
		return
	}
	of, leave, ok := r.open(ctx, sale)
	if !ok {
		return
	}
	defer leave()
	id := held.ID{User: user, Number: number}
	end, owed, err := r.change(sale, id, actorOf(ctx), &wanted)
	if err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	if end != "" && r.endPayment != nil {
		r.endPayment(end)
	}
	body, err := r.corrected(of, id, owed)
	if err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	replyBody(ctx, body)
}

// open opens the orders of this sale, or of one whose refunds are listed; leave must follow. ok is false if
// that cannot be; the request is answered then.
func (r correctionsCalls) open(ctx *fasthttp.RequestCtx, sale string) (
	of *saleOrders, leave func(), ok bool,
) {
	who, free := actorOf(ctx), func() {}
	if sale != r.cfg.Sale.ID() {
		sales, err := r.sales()
		if err == nil && !slices.Contains(sales, sale) {
			err = held.ErrNone
		}
		if err != nil {
			r.replyOutcome(ctx, err)
			return nil, nil, false
		}
		if !r.lists.enter(who) { // as in showOrder
			reply(ctx, errTooManyRequests)
			return nil, nil, false
		}
		free = func() { r.lists.leave(who) }
	}
	of, err := r.ordersOf(sale)
	if err == nil {
		return of, func() { of.end(); free() }, true
	}
	free()
	if errors.Is(err, turnover.ErrNoPastSale) {
		err = held.ErrNone
	}
	r.replyOutcome(ctx, err)
	return nil, nil, false
}

func (r correctionsCalls) change(sale string, id held.ID, by string, w *correction) (
	end string, owed held.Owed, err error,
) {
	switch {
	case sale != r.cfg.Sale.ID():
		owed, err = r.orders.Of(sale).CancelAfter(id, by, w.reason)
		return "", owed, err
	case w.items == nil:
		return r.orders.Cancel(id, by, w.reason)
	}
	order, err := r.orders.Find(id)
	if err != nil {
		return "", owed, err
	}
	back := r.costs(order.Items) - r.costs(w.items)
	return r.orders.Shrink(id, by, w.reason, order.Items, w.items, back)
}

// costs is the price of items; those that no food is do not count.
func (s *Server) costs(items []redisx.Item) (sum int64) {
	foods := s.cfg.Catalog.Foods()
	for _, item := range items {
		if item.Food >= 1 && item.Food <= int64(len(foods)) {
			sum += foods[item.Food-1].Price * item.Count
		}
	}
	return sum
}

// owedBody is what is due to be given back after a correction.
type owedBody struct {
	Payment string `json:"payment_id"`
	Amount  int64  `json:"amount"`
}

// corrected is the order as it is now, and what is due to be given back.
func (r correctionsCalls) corrected(of *saleOrders, id held.ID, owed held.Owed) ([]byte, error) {
	order, err := r.findOrder(of, id.User, id.Number)
	if err != nil {
		return nil, err
	}
	names, err := of.names([]uint32{id.User})
	if err != nil {
		return nil, err
	}
	body := struct {
		*orderBody
		Refund *owedBody `json:"refund,omitempty"`
	}{r.bodyOfOrder(of, &order, names[id.User]), nil}
	if owed.Payment != "" {
		body.Refund = &owedBody{owed.Payment, owed.Amount}
	}
	return json.Marshal(body)
}
