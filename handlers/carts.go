package handlers

import (
	"math/rand/v2"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/limits"
	"flashsale/redisx"
)

// cartAdds is the event name of -cart-adds in the metrics of the rate limits.
var cartAdds = []byte("cart-adds")

// createCart mints a cart ID. It needs no Redis: the cart begins there with its first piece.
func (s *Server) createCart(ctx *fasthttp.RequestCtx, c Call) {
	if s.mayNotBuy(ctx, c.user) {
		return
	}
	var scratch [scratchBytes]byte
	b := append(scratch[:0], `{"cart_id":"`...)
	b = s.cfg.Keys.AppendCart(b, c.user, rand.Uint64())
	replyBody(ctx, append(b, `"}`...))
}

// addToCart adds pieces of a food to a cart of the user, or takes pieces away.
func (s *Server) addToCart(ctx *fasthttp.RequestCtx, c Call) {
	if s.mayNotBuy(ctx, c.user) {
		return
	}
	who := limits.Who{ID: c.user}
	if s.isRefused(ctx, limits.Cart, who) || s.mustWait(ctx, s.adds.Wait(c.user, timeOf(ctx))) {
		return
	}
	members := [2]member{{name: "food_id"}, {name: "count"}}
	if f := readContestBody(ctx.PostBody(), members[:]); f != nil {
		reply(ctx, f)
		return
	}
	food, ok1 := members[0].integer()
	count, ok2 := members[1].integer()
	if !ok1 || !ok2 {
		reply(ctx, errMalformedJSON)
		return
	}
	cart, f := s.cart(c.user, c.rawParam("id"))
	if f != nil {
		reply(ctx, f)
		return
	}
	if food < 1 || food > int64(len(s.cfg.Catalog.Foods())) {
		reply(ctx, errFoodNotFound)
		return
	}
	s.record(ctx, limits.Cart, who, 1)
	if s.mustWait(ctx, s.adds.Add(c.user, timeOf(ctx))) {
		return
	}
	c.answer.food, c.answer.pieces = food, count
	s.cfg.Sale.AddToCart(c.user, cart, food, count, c.later(ctx, (*Server).added))
}

// mayNotBuy reports whether the sale is for users of the catalogue only and this user has registered, and
// answers the call then.
func (s *Server) mayNotBuy(ctx *fasthttp.RequestCtx, user uint32) bool {
	if !s.cfg.CatalogueBuyers || user < redisx.FirstRegistered {
		return false
	}
	reply(ctx, errNoBuyer)
	return true
}

// mustWait reports whether a user must wait because of -cart-adds, and answers the call then.
func (s *Server) mustWait(ctx *fasthttp.RequestCtx, wait time.Duration) bool {
	if wait <= 0 {
		return false
	}
	s.countOverLimit(cartAdds)
	replyTooMany(ctx, wait)
	return true
}

// added replies to addToCart.
func (s *Server) added(ctx *fasthttp.RequestCtx, a *answer) {
	if a.err != nil {
		s.replyOutcome(ctx, a.err)
		return
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
}

// cart returns the name of the user's cart with this ID.
func (s *Server) cart(user uint32, id []byte) (name []byte, f *failure) {
	owner, name, ok := s.cfg.Keys.Cart(id)
	switch {
	case !ok:
		return nil, errCartNotFound
	case owner != user:
		return nil, errNotYourCart
	}
	return name, nil
}
