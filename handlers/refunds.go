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

	"flashsale/internal/rooms/events"
	"flashsale/redisx"
	"flashsale/redisx/held"
	"flashsale/redisx/turnover"
)

const (
	correctionBodyMax = 4 << 10
	reasonMax         = 200 // characters
	refundsPage       = 100

	// RefundSalesMax is the number of sales whose refunds are listed: this one and those before it.
	RefundSalesMax = events.SalesMax
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

// place is where refunds are kept: a slice of a sale.
type place struct {
	orders *held.Orders
	slice  int
}

// sales are those whose refunds are listed, this one first.
func (r correctionsCalls) sales() ([]string, error) {
	sales := []string{r.cfg.Sale.ID()}
	if r.cfg.PastSales == nil {
		return sales, nil
	}
	previous, err := r.cfg.PastSales()
	if err != nil {
		return nil, errors.Join(redisx.ErrUnavailable, err)
	}
	return append(sales, previous[:min(len(previous), RefundSalesMax-1)]...), nil
}

// places are where refunds may be, those of this sale first.
func (r correctionsCalls) places() (list []place, err error) {
	sales, err := r.sales()
	if err != nil {
		return nil, err
	}
	for _, sale := range sales {
		for slice := range r.orders.Slices() {
			list = append(list, place{r.orders.Of(sale), slice})
		}
	}
	return list, nil
}

// refundBody is a payment that is due to be given back, or was.
type refundBody struct {
	Payment  string `json:"payment_id"`
	Order    string `json:"order_id"`
	User     uint32 `json:"user_id"`
	Name     string `json:"username"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	Since    string `json:"since"`
	Reason   string `json:"reason"`
	State    string `json:"state"`
}

// list sends a page of the payments that are due to be given back, or that were.
func (r correctionsCalls) list(ctx *fasthttp.RequestCtx, _ Call) {
	state := param(ctx, "state")
	if state != "" && state != "due" && state != "done" {
		reply(ctx, errBadHoldState)
		return
	}
	found, err := r.page(state == "done", param(ctx, "after"))
	var names map[uint32]string
	if err == nil {
		users := []uint32{}
		for i := range found {
			users = append(users, found[i].ID.User)
		}
		names, err = r.buyers()(users)
	}
	var body []byte
	if err == nil {
		list := []refundBody{}
		for i := range found {
			list = append(list, r.bodyOfRefund(&found[i], names))
		}
		body, err = json.Marshal(list)
	}
	if err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	replyBody(ctx, body)
}

func (r correctionsCalls) bodyOfRefund(f *held.Refund, names map[uint32]string) refundBody {
	state := "due"
	if f.Done {
		state = "done"
	}
	return refundBody{Payment: f.Payment, User: f.ID.User, Name: names[f.ID.User], Amount: f.Amount,
		State: state, Order: string(redisx.AppendOrderID(nil, f.Sale, f.ID.User, f.ID.Number)),
		Currency: r.cfg.Catalog.Currency(), Since: stamp(f.Since), Reason: f.Reason}
}

// page finds at most refundsPage payments, from behind the payment after on.
func (r correctionsCalls) page(done bool, after string) (found []held.Refund, err error) {
	places, err := r.places()
	if err != nil {
		return nil, err
	}
	for _, at := range places {
		more, err := at.orders.Refunds(at.slice, done, after, refundsPage-len(found))
		if errors.Is(err, held.ErrNotListed) {
			continue // it is in another place
		}
		if err != nil {
			return nil, err
		}
		after = ""
		if found = append(found, more...); len(found) == refundsPage {
			break
		}
	}
	if after != "" {
		return nil, held.ErrNoMoney
	}
	return found, nil
}

// done notes that a payment was given back.
func (r correctionsCalls) done(ctx *fasthttp.RequestCtx, c Call) {
	if err := r.refunded(c.param("payment")); err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
}

func (r correctionsCalls) refunded(payment string) error {
	places, err := r.places()
	if err != nil {
		return err
	}
	for _, at := range places {
		id, err := at.orders.OwnerOf(at.slice, payment)
		if errors.Is(err, held.ErrNone) {
			continue
		}
		if err != nil {
			return err
		}
		return at.orders.Refunded(id, payment)
	}
	return held.ErrNoMoney
}
