package handlers

import (
	"strconv"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/redisx"
)

// listBytesMax bounds the list that the event loop sends: the loop copies the part that a client does not
// read at once. A goroutine sends a longer list, of thousands of foods, without a copy.
const listBytesMax = 64 << 10

// foodLists are the bodies of GET /foods. The one with details is made when the first client asks for it.
type foodLists struct {
	plain    []byte
	detailed func() []byte
}

// listFoods sends a ready-made list: no Redis, no lock, no JSON to write.
func (s *Server) listFoods(ctx *fasthttp.RequestCtx, c Call) {
	lists := s.foods.Load()
	if lists == nil {
		reply(ctx, errUnavailable)
		return
	}
	detailed := hasQuery(ctx) && wantsDetails(ctx)
	size := len(lists.plain)
	if detailed {
		size = len(s.cfg.Catalog.Foods())*detailedFoodBytes + s.goods.bytes
	}
	switch {
	case size > listBytesMax && c.answer.readByLoop():
		c.answer.exchange.Decline()
	case detailed:
		replyRaw(ctx, lists.detailed())
	default:
		replyRaw(ctx, lists.plain)
	}
}

// publishFoods makes the lists of GET /foods.
func (s *Server) publishFoods(found *redisx.Snapshot) {
	list := []byte("[")
	for i, food := range s.cfg.Catalog.Foods() {
		if i > 0 {
			list = append(list, ',')
		}
		list = appendFood(list, food.ID, food.Price, found.Left[i])
	}
	list = append(list, ']')
	left, soldOut := found.Left, found.SoldOut
	s.foods.Store(&foodLists{list, sync.OnceValue(func() []byte { return s.detailFoods(left, soldOut) })})
}

// detailFoods makes the list of GET /foods?details=1 from the pieces left of food 1, 2, 3, ... and the times
// since when they are sold out.
func (s *Server) detailFoods(left []int64, soldOut []time.Time) []byte {
	list := make([]byte, 0, len(left)*detailedFoodBytes+s.goods.bytes)
	for i, food := range s.cfg.Catalog.Foods() {
		list = append(list, ',')
		list = appendFood(list, food.ID, food.Price, left[i])
		list = append(list[:len(list)-1], `,"sold_out_at":`...)
		list = append(appendTime(list, soldOut[i]), s.goods.of(i)...)
		list = append(list, '}')
	}
	list[0] = '['
	return append(list, ']')
}

// detailedFoodBytes is about the most bytes of a food in the list with details, without its goods.
const detailedFoodBytes = 100

// appendFood appends a food as JSON.
func appendFood(dst []byte, id, price, left int64) []byte {
	dst = strconv.AppendInt(append(dst, `{"id":`...), id, 10)
	dst = strconv.AppendInt(append(dst, `,"price":`...), price, 10)
	dst = strconv.AppendInt(append(dst, `,"stock":`...), left, 10)
	return append(dst, '}')
}
