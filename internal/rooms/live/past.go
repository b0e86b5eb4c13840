package live

import (
	"fmt"

	"flashsale/internal/observe/figures"
)

// first is the sale when its orders were first known.
type first struct {
	second int64
	orders uint64
}

func (h *Hub) noteFirst() {
	if _, sale := h.sale(); sale.Orders != nil {
		h.first.Store(&first{h.now().Unix(), *sale.Orders})
	}
}

// keep keeps the orders of a second for the history. A second in which this process stood still had no
// orders: they count in the next second.
func (h *Hub) keep(second int64, orders uint32) {
	if h.kept == 0 {
		switch first := h.first.Load(); {
		case first != nil && second >= first.second:
			h.kept = first.second - 1
		case first == nil && h.sampler.samples > 1: // the first one has nothing to compare with
			h.kept = second - 1
		default:
			return
		}
	}
	for missed := max(h.kept+1, second-figures.SecondsMax); missed < second; missed++ {
		h.cfg.Own.Pace.Set(missed, 0)
	}
	h.cfg.Own.Pace.Set(second, orders)
	h.kept = second
}

// history is the event with the orders of the last seconds.
type history struct {
	second int64 // in which it was made
	text   []byte
}

// past is what a viewer has missed since an event: the pace of each second, or where that is not known any
// more, or is much, the orders of the last ten minutes.
func (h *Hub) past(lastID int64) (text []byte) {
	missed := h.second - 1 - lastID
	if missed < 0 || missed > batchesMax {
		return h.pastOrders()
	}
	for number := h.latest - missed; number <= h.latest; number++ {
		b := h.batch(number)
		if want := lastID + number - (h.latest - missed); b.second != want { // there was no viewer then
			return h.pastOrders()
		} else if want > lastID {
			text = append(text, b.pace...)
		}
	}
	return text
}

// pastOrders is the history.
func (h *Hub) pastOrders() []byte {
	if h.history.second == h.second {
		return h.history.text
	}
	from := h.second - figures.SecondsMax
	orders := make([]uint32, figures.SecondsMax)
	for i := range orders {
		orders[i] = h.ordersAt(from + int64(i))
	}
	data := fmt.Appendf(nil, `{"from":%d,"orders":%s}`, from, list(orders))
	h.history = history{h.second, appendEvent(nil, "history", h.id(), data)}
	return h.history.text
}

// ordersAt is the number of orders in a second as this slot has kept it, also before a restart of its
// worker. Only without that number other slots are read: each worker counts at a moment of its own, so their
// numbers do not fit together.
func (h *Hub) ordersAt(second int64) (orders uint32) {
	if n, ok := h.cfg.Own.Pace.At(second); ok {
		return n
	}
	for slot := range h.cfg.Figures.Slots() {
		n, _ := h.cfg.Figures.Counters(slot).Pace.At(second)
		orders = max(orders, n)
	}
	return orders
}
