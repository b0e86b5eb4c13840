package redisx

import (
	"strconv"

	"flashsale/redisx/pipeline"
)

// OutOfStock is an ErrOutOfStock that names the foods. There are none if pieces came back meanwhile, or if
// Redis did not answer.
type OutOfStock struct{ Lacks []Lack }

// Lack is a food of which fewer pieces are left than an order wants.
type Lack struct{ Food, Wanted, Left int64 }

// Error is that of ErrOutOfStock.
func (e *OutOfStock) Error() string { return ErrOutOfStock.Error() }

// Is reports whether the target is ErrOutOfStock.
func (e *OutOfStock) Is(target error) bool { return target == ErrOutOfStock }

// PlaceOrderNaming is PlaceOrder with an *OutOfStock for ErrOutOfStock. Only such a refusal costs more:
// another round trip.
func (s *Sale) PlaceOrderNaming(user uint32, cart, idempotencyKey []byte, then Outcome) {
	s.place(user, cart, idempotencyKey, Terms{}, true, then)
}

// look asks which foods the order lacks, and then refuses it. A sale with slices knows it from its mover.
func (p *placement) look() {
	x := p.slice
	keys := []string{string(x.keys.cart(nil, p.cart)), x.keys.Stock}
	call := lackingScript.Call(&p.found, keys, strconv.Itoa(x.sale.list.cartMax)).Since(p.begin)
	if !x.redis.Send(call, looking{p}) {
		call.Free()
		p.end(ErrOutOfStock)
	}
}

// looking is the completion of look.
type looking struct{ *placement }

// Complete reads the foods and ends the order, on the thread that owns it.
func (l looking) Complete(x *pipeline.Call) {
	_, err := x.Result()
	x.Free()
	for found := l.found; err == nil && len(found) >= 3; found = found[3:] {
		l.lacks = append(l.lacks, Lack{Food: found[0], Wanted: found[1], Left: found[2]})
	}
	if loop := l.slice.sale.cfg.Loop; loop != nil {
		loop.Post(func() { l.end(ErrOutOfStock) })
		return
	}
	l.end(ErrOutOfStock)
}

// lacks are the wanted foods of which all slices together have too few pieces.
func (h holdings) lacks(w want) (lacks []Lack) {
	for i := 0; i+1 < len(w.pieces); i += 2 {
		food, wanted := w.pieces[i], w.pieces[i+1]
		if left := h.of(food); left < wanted {
			lacks = append(lacks, Lack{Food: food, Wanted: wanted, Left: left})
		}
	}
	return lacks
}
