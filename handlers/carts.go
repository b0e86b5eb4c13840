package handlers

import (
	"math/rand/v2"

	"github.com/valyala/fasthttp"
)

// createCart mints a cart ID. It needs no Redis: the cart begins there with its first piece.
func (s *Server) createCart(ctx *fasthttp.RequestCtx) {
	user, ok := s.user(ctx)
	if !ok {
		return
	}
	var scratch [scratchBytes]byte
	b := append(scratch[:0], `{"cart_id":"`...)
	b = s.cfg.Keys.AppendCart(b, user, rand.Uint64())
	replyBody(ctx, append(b, `"}`...))
}

// addToCart adds pieces of a food to a cart of the user, or takes them away.
func (s *Server) addToCart(ctx *fasthttp.RequestCtx) {
	user, ok := s.user(ctx)
	if !ok {
		return
	}
	members := [2]member{{name: "food_id"}, {name: "count"}}
	if f := readBody(ctx.PostBody(), members[:]); f != nil {
		reply(ctx, f)
		return
	}
	food, ok1 := members[0].integer()
	count, ok2 := members[1].integer()
	if !ok1 || !ok2 {
		reply(ctx, errMalformedJSON)
		return
	}
	cart, f := s.cart(user, ctx.URI().PathOriginal()[len(cartsPath):])
	if f != nil {
		reply(ctx, f)
		return
	}
	if food < 1 || food > int64(len(s.cfg.Catalog.Foods())) {
		reply(ctx, errFoodNotFound)
		return
	}
	if err := s.cfg.Sale.AddToCart(user, cart, food, count); err != nil {
		replyOutcome(ctx, err)
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
