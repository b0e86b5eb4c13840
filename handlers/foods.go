package handlers

import (
	"strconv"

	"github.com/valyala/fasthttp"
)

// listBytesMax bounds the list that the event loop sends: the loop copies the part that a client does not
// read at once. A goroutine sends a longer list, of thousands of foods, without a copy.
const listBytesMax = 64 << 10

// listFoods sends the ready-made list: no Redis, no lock, no JSON to write.
func (s *Server) listFoods(ctx *fasthttp.RequestCtx, c Call) {
	list := s.foods.Load()
	switch {
	case list == nil:
		reply(ctx, errUnavailable)
	case len(*list) > listBytesMax && c.answer.readByLoop():
		c.answer.exchange.Decline()
	default:
		replyRaw(ctx, *list)
	}
}

// publishFoods makes the list of GET /foods from the pieces left of food 1, 2, 3, ...
func (s *Server) publishFoods(left []int64) {
	list := []byte("[")
	for i, food := range s.cfg.Catalog.Foods() {
		if i > 0 {
			list = append(list, ',')
		}
		list = appendFood(list, food.ID, food.Price, left[i])
	}
	list = append(list, ']')
	s.foods.Store(&list)
}

// appendFood appends a food as JSON.
func appendFood(dst []byte, id, price, left int64) []byte {
	dst = strconv.AppendInt(append(dst, `{"id":`...), id, 10)
	dst = strconv.AppendInt(append(dst, `,"price":`...), price, 10)
	dst = strconv.AppendInt(append(dst, `,"stock":`...), left, 10)
	return append(dst, '}')
}
