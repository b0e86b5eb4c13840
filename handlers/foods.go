package handlers

import (
	"strconv"

	"github.com/valyala/fasthttp"
)

// listBytesMax bounds the list that the event loop sends: it copies what a client does not read at once. A
// longer one, of thousands of foods, is sent by a goroutine from where it stands.
const listBytesMax = 64 << 10

// listFoods sends the ready-made list: no Redis, no lock, no JSON to write.
func (s *Server) listFoods(ctx *fasthttp.RequestCtx, c call) {
	list := s.foods.Load()
	switch {
	case list == nil:
		reply(ctx, errUnavailable)
	case len(*list) > listBytesMax && c.answer.onLoop():
		c.answer.exchange.Decline()
	default:
		replyRaw(ctx, *list)
	}
}

// PublishStock makes the list of GET /foods from the stock of food 1, 2, 3, ...
func (s *Server) PublishStock(stock []int64) {
	s.countSold(stock)
	s.countPiecesLeft(stock)
	list := []byte("[")
	for i, food := range s.cfg.Catalog.Foods() {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, `{"id":`...)
		list = strconv.AppendInt(list, food.ID, 10)
		list = append(list, `,"price":`...)
		list = strconv.AppendInt(list, food.Price, 10)
		list = append(list, `,"stock":`...)
		list = strconv.AppendInt(list, stock[i], 10)
		list = append(list, '}')
	}
	list = append(list, ']')
	s.foods.Store(&list)
}
