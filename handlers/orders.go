package handlers

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/limits"
	"flashsale/redisx"
)

// placeOrder turns a cart of the user into the user's order.
func (s *Server) placeOrder(ctx *fasthttp.RequestCtx, c Call) {
	if s.mayNotBuy(ctx, c.user) {
		return
	}
	who := limits.Who{ID: c.user}
	if s.isRefused(ctx, limits.Order, who) {
		return
	}
	members := [1]member{{name: "cart_id"}}
	if f := readContestBody(ctx.PostBody(), members[:]); f != nil {
		reply(ctx, f)
		return
	}
	id, ok := members[0].string()
	if !ok {
		reply(ctx, errMalformedJSON)
		return
	}
	cart, f := s.cart(c.user, id)
	if f != nil {
		reply(ctx, f)
		return
	}
	key, f := idempotencyKey(ctx)
	if f != nil {
		reply(ctx, f)
		return
	}
	s.record(ctx, limits.Order, who, 1)
	then := c.later(ctx, (*Server).placed)
	if hasQuery(ctx) && wantsDetails(ctx) {
		s.cfg.Sale.PlaceOrderNaming(c.user, cart, key, then)
	} else {
		s.cfg.Sale.PlaceOrder(c.user, cart, key, then)
	}
}

// placed answers placeOrder.
func (s *Server) placed(ctx *fasthttp.RequestCtx, a *answer) {
	err := a.err
	if lacking, named := err.(*redisx.OutOfStock); named { // it does not allocate, as errors.As does
		s.demand.Refused(lacking.Lacks)
		replyLacking(ctx, lacking)
		return
	}
	if err != nil {
		if err == redisx.ErrOutOfStock {
			s.demand.Refused(nil)
		}
		s.replyOutcome(ctx, err)
		return
	}
	var scratch [scratchBytes]byte
	b := append(scratch[:0], `{"id":`...)
	b = s.appendOrderID(b, a.user, a.number)
	replyBody(ctx, append(b, '}'))
}

// replyLacking refuses an order and names the foods of which too few pieces are left.
func replyLacking(ctx *fasthttp.RequestCtx, lacking *redisx.OutOfStock) {
	body := errFoodOutOfStock.bodyFor(ctx)
	b := append(slices.Clone(body[:len(body)-1]), `,"details":[`...)
	for i, lack := range lacking.Lacks {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(b, `{"food_id":`...), lack.Food, 10)
		b = strconv.AppendInt(append(b, `,"count":`...), lack.Wanted, 10)
		b = strconv.AppendInt(append(b, `,"stock":`...), lack.Left, 10)
		b = append(b, '}')
	}
	ctx.SetStatusCode(errFoodOutOfStock.status)
	replyRaw(ctx, append(b, "]}"...))
}

// listOrders sends the user's order as a list, empty without an order.
func (s *Server) listOrders(ctx *fasthttp.RequestCtx, c Call) {
	order, err := s.cfg.Sale.Order(c.user)
	if err != nil {
		s.replyOutcome(ctx, err)
		return
	}
	var scratch [scratchBytes]byte
	b := append(scratch[:0], '[')
	if len(order.Items) > 0 {
		b = append(b, `{"id":`...)
		b = s.appendOrderID(b, c.user, order.Hold.Number)
		b = s.appendItems(b, order.Items)
		if wantsDetails(ctx) {
			b = appendHold(appendPlaced(b, &order), &order.Hold)
		}
		b = append(b, '}')
	}
	replyBody(ctx, append(b, ']'))
}

// wantsDetails reports whether a reply shall have more members than the contest asks for.
func wantsDetails(ctx *fasthttp.RequestCtx) bool {
	return string(ctx.QueryArgs().Peek("details")) == "1"
}

// appendPlaced appends ,"placed_at": of an order, null if the time is not known.
func appendPlaced(dst []byte, order *redisx.Order) []byte {
	return appendTime(append(dst, `,"placed_at":`...), order.Placed)
}

// appendHold appends ,"state":... and the rest of an order that is or was held; nothing for a final one.
func appendHold(dst []byte, h *redisx.Hold) []byte {
	if h.State == "" {
		return dst
	}
	dst = append(append(dst, `,"state":"`...), h.State...)
	dst = appendTime(append(dst, `","till":`...), h.Till)
	dst = appendMember(dst, `,"payment_id":`, h.Payment)
	return appendMember(dst, `,"reason":`, h.Reason)
}

// appendMember appends a member, unless its text is empty.
func appendMember(dst []byte, name, text string) []byte {
	if text == "" {
		return dst
	}
	value, _ := json.Marshal(text) // a string can always be written
	return append(append(dst, name...), value...)
}

// appendOrderID appends the id of the user's order as a JSON string.
func (s *Server) appendOrderID(dst []byte, user uint32, before int) []byte {
	return append(redisx.AppendOrderID(append(dst, '"'), s.cfg.Sale.ID(), user, before), '"')
}

// appendItems appends ,"items":[...],"total":n of an order.
func (s *Server) appendItems(dst []byte, items []redisx.Item) []byte {
	foods := s.cfg.Catalog.Foods()
	// Open refused a sale of other foods, so every food sold has its price here.
	return appendItems(dst, items, func(food int64) int64 { return foods[food-1].Price })
}

// appendItems is that with the prices of any sale.
func appendItems(dst []byte, items []redisx.Item, price func(food int64) int64) []byte {
	total := int64(0)
	for _, item := range items {
		total += price(item.Food) * item.Count
	}
	dst = append(appendItemList(append(dst, `,"items":[`...), items), `],"total":`...)
	return strconv.AppendInt(dst, total, 10)
}

// appendItemList appends items, with commas between them.
func appendItemList(dst []byte, items []redisx.Item) []byte {
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(dst, `{"food_id":`...), item.Food, 10)
		dst = strconv.AppendInt(append(dst, `,"count":`...), item.Count, 10)
		dst = append(dst, '}')
	}
	return dst
}
