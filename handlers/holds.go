package handlers

import (
	"github.com/valyala/fasthttp"

	"flashsale/redisx"
	"flashsale/redisx/held"
)

// holdsCalls are the calls of buyers about orders that are held until they are paid.
type holdsCalls struct{ *Server }

// Holds is the room of held orders.
func Holds(orders *held.Orders) Room {
	return func(s *Server) []Route {
		s.held = orders
		r := holdsCalls{s}
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

// show sends an order of the user, also one that was released.
func (r holdsCalls) show(ctx *fasthttp.RequestCtx, c Call) {
	id, ok := r.orderOf(ctx, c)
	if !ok {
		return
	}
	order, err := r.held.Find(id)
	switch {
	case err != nil:
		r.replyOutcome(ctx, err)
		return
	case len(order.Items) == 0:
		reply(ctx, errNoOrder)
		return
	}
	b := r.appendOrderID([]byte(`{"id":`), c.user, order.Hold.Number)
	b = r.appendItems(b, order.Items)
	b = appendPlaced(b, &order)
	replyRaw(ctx, append(appendHold(b, &order.Hold), '}'))
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
