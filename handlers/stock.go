package handlers

import (
	"strconv"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"flashsale/redisx"
)

const idempotencyKeyMax = 255 // characters

// changeStock adds pieces to the stock of a food, or takes back unsold pieces.
func (s *Server) changeStock(ctx *fasthttp.RequestCtx, c Call) {
	members := [1]member{{name: "add"}}
	if f := readBody(ctx.PostBody(), members[:]); f != nil {
		reply(ctx, f)
		return
	}
	add, ok := members[0].integer()
	if !ok || add > redisx.RestockMax || add < -redisx.RestockMax {
		reply(ctx, errMalformedJSON)
		return
	}
	foods := s.cfg.Catalog.Foods()
	id := c.param("id")
	food, err := strconv.ParseInt(id, 10, 64)
	if err != nil || food < 1 || food > int64(len(foods)) || strconv.FormatInt(food, 10) != id { // no "01"
		reply(ctx, errFoodNotFound)
		return
	}
	key, f := idempotencyKey(ctx)
	if f != nil {
		reply(ctx, f)
		return
	}
	food, left, err := s.cfg.Sale.Restock(redisx.Restock{By: operator, Food: food, Add: add, Key: string(key)})
	if err != nil {
		s.replyOutcome(ctx, err)
		return
	}
	replyRaw(ctx, appendFood(nil, food, foods[food-1].Price, left))
}

// idempotencyKey returns the key of a request, empty for none. Two keys fail: either could count.
func idempotencyKey(ctx *fasthttp.RequestCtx) (key []byte, f *failure) {
	switch keys := ctx.Request.Header.PeekAll("Idempotency-Key"); len(keys) {
	case 0:
		return nil, nil
	case 1:
		key = keys[0]
	default:
		return nil, errBadRequest
	}
	if len(key) > idempotencyKeyMax && utf8.RuneCount(key) > idempotencyKeyMax {
		return nil, errBadIdempotencyKey
	}
	return key, nil
}
