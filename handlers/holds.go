package handlers

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"flashsale/redisx"
	"flashsale/redisx/held"
)

// PastOrder is an order of a sale that has ended; without items there is none.
type PastOrder struct {
	redisx.Order
	SameUsers bool    // the users of the catalogue are those of that sale
	Prices    []int64 // of the items; nil where they are not known
}

// PastOrders finds an order of a sale that has ended. Error: redisx.ErrUnavailable.
type PastOrders func(sale string, id held.ID) (PastOrder, error)

// holdsCalls are the calls of buyers about orders that are held until they are paid.
type holdsCalls struct {
	*Server
	past PastOrders
}

// Holds is the room of held orders.
func Holds(orders *held.Orders, past PastOrders) Room {
	return func(s *Server) []Route {
		s.held = orders
		r := holdsCalls{s, past}
		return []Route{
			{"GET", "/orders/:id", s.user, slow, r.show},
			{"DELETE", "/orders/:id", s.user, slow, r.giveBack},
		}
	}
}

// orderOf is the order of the caller that a path names: one of this sale. ok is false for any other; the
// request is answered then.
func (s *Server) orderOf(ctx *fasthttp.RequestCtx, c Call) (id held.ID, ok bool) {
	sale, user, number, ok := redisx.ParseOrderID(c.param("id"))
	if !ok || sale != s.cfg.Sale.ID() || user != c.user {
		reply(ctx, errNoOrder)
		return held.ID{}, false
	}
	return held.ID{User: user, Number: number}, true
}

// show sends an order of the user, also one that was released, or of a sale that has ended.
func (r holdsCalls) show(ctx *fasthttp.RequestCtx, c Call) {
	sale, user, number, ok := redisx.ParseOrderID(c.param("id"))
	if !ok || user != c.user {
		reply(ctx, errNoOrder)
		return
	}
	order, appendItems, err := r.find(sale, held.ID{User: user, Number: number})
	switch {
	case err != nil:
		r.replyOutcome(ctx, err)
		return
	case len(order.Items) == 0:
		reply(ctx, errNoOrder)
		return
	}
	b := append(redisx.AppendOrderID([]byte(`{"id":"`), sale, user, number), '"')
	b = appendPlaced(appendItems(b, order.Items), &order)
	replyRaw(ctx, append(appendHold(b, &order.Hold), '}'))
}

// find finds an order for its buyer, and how its items are written. One of a sale that has ended has a total
// only where the prices of then are known. It is nobody's if its user may be another person now.
func (r holdsCalls) find(sale string, id held.ID) (
	o redisx.Order, appends func([]byte, []redisx.Item) []byte, err error,
) {
	if sale == r.cfg.Sale.ID() {
		o, err = r.held.Find(id)
		return o, r.appendItems, err
	}
	past, err := r.past(sale, id)
	if err != nil || id.User < redisx.FirstRegistered && !past.SameUsers || past.Hold.State == "" {
		return o, nil, err
	}
	return past.Order, func(dst []byte, items []redisx.Item) []byte {
		dst = append(appendItemList(append(dst, `,"items":[`...), items), ']')
		if past.Prices == nil {
			return dst
		}
		total := int64(0)
		for i, item := range items {
			total += past.Prices[i] * item.Count
		}
		return strconv.AppendInt(append(dst, `,"total":`...), total, 10)
	}, nil
}

// giveBack ends a held order of the user at once.
func (r holdsCalls) giveBack(ctx *fasthttp.RequestCtx, c Call) {
	id, ok := r.orderOf(ctx, c)
	if !ok {
		return
	}
	payment, _, err := r.held.Cancel(id, "", held.ByBuyer)
	if err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	r.figures.OrdersGivenBack.Inc()
	if payment != "" && r.endPayment != nil {
		r.endPayment(payment)
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
}
