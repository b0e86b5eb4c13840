package audit

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"time"

	"flashsale/scripts/bench/sale"
)

// heldBooks is what root sees of held orders.
type heldBooks struct {
	released map[string]heldOrder // by id: orders of Endings, or from before the load, that are not listed
	paid     []Order
	paidIDs  map[string]bool
	pieces   map[int64]int64    // of each food that are held, as the sums of the sale have them
	refunds  map[string][]int64 // by payment: the amounts that are due to be given back
	read     time.Time          // between reading the orders and the sums
}

// heldOrder is an order that is or was held, as GET /admin/orders/:id sends it.
type heldOrder struct {
	Order
	State string `json:"state"`
}

const refundsBodyMax = 1 << 20 // bytes of a page of /admin/refunds, and of an order

// heldBooks reads the books of held orders. The orders that are not listed are read one by one.
func (b *Books) heldBooks(ctx context.Context, ev *Evidence) (h heldBooks, err error) {
	if h.paid, err = b.orders(ctx, "?state=paid"); err != nil {
		return h, err
	}
	h.paidIDs = map[string]bool{}
	for _, o := range h.paid {
		h.paidIDs[o.ID] = true
	}
	listed := ordersByID(ev.orders)
	h.released = map[string]heldOrder{}
	ids := slices.Collect(maps.Keys(ev.before))
	for _, e := range ev.Endings {
		ids = append(ids, e.OrderID)
	}
	for _, id := range ids {
		if _, found := listed[id]; found {
			continue
		}
		if was, known := ev.held.released[id]; known { // it is not listed, so it is released still
			h.released[id] = was
			continue
		}
		var o heldOrder
		found, err := b.find(ctx, "/admin/orders/"+id, &o)
		if err != nil {
			return h, err
		}
		if found {
			h.released[id] = o
		}
	}
	h.read = time.Now()
	if h.pieces, err = b.heldPieces(ctx); err != nil {
		return h, err
	}
	h.refunds, err = b.refunds(ctx)
	return h, err
}

// find reads the JSON at a path from the first server that answers; found is false if all answer 404.
func (b *Books) find(ctx context.Context, path string, into any) (found bool, err error) {
	err = b.anywhere(func(server string) error {
		return b.call(ctx, server, "GET", path, nil, func(body io.Reader) error {
			found = true
			return json.NewDecoder(io.LimitReader(body, refundsBodyMax)).Decode(into)
		})
	})
	if isNotFound(err) {
		return false, nil
	}
	return found, err
}

// heldPieces reads how many pieces of each food are held.
func (b *Books) heldPieces(ctx context.Context) (map[int64]int64, error) {
	var sums struct {
		Foods []struct {
			ID   int64 `json:"food_id"`
			Held int64 `json:"held"`
		} `json:"foods"`
	}
	err := b.anywhere(func(server string) error {
		return b.call(ctx, server, "GET", "/admin/sums", nil, func(body io.Reader) error {
			return json.NewDecoder(io.LimitReader(body, foodsBodyMax)).Decode(&sums)
		})
	})
	held := map[int64]int64{}
	for _, f := range sums.Foods {
		held[f.ID] = f.Held
	}
	return held, err
}

// refunds reads all payments that are due to be given back.
func (b *Books) refunds(ctx context.Context) (map[string][]int64, error) {
	due := map[string][]int64{}
	for after := ""; ; {
		var page []struct {
			Payment string `json:"payment_id"`
			Amount  int64  `json:"amount"`
		}
		if _, err := b.find(ctx, "/admin/refunds?state=due&after="+after, &page); err != nil || len(page) == 0 {
			return due, err
		}
		for _, one := range page {
			due[one.Payment] = append(due[one.Payment], one.Amount)
		}
		after = page[len(page)-1].Payment
	}
}

// checkHeld: for every food the pieces that are left, held and paid are all there are.
func (ev *Evidence) checkHeld() Check {
	c := Check{Name: HeldStock}
	paid := piecesOf(ev.held.paid)
	for _, l := range ev.listings {
		for _, offered := range l.foods {
			f, _ := ev.Sale.Food(offered.ID)
			held, there := ev.held.pieces[f.ID], f.Stock+ev.restocked[f.ID]
			if c.Examined++; offered.Stock+held+paid[f.ID] != there {
				c.Violate("food %d on %s: %d left + %d held + %d paid is not %d", f.ID, l.server, offered.Stock,
					held, paid[f.ID], there)
			}
		}
	}
	return c
}

// mayBe are the states in which an order may be after its end.
var mayBe = map[sale.End][]string{
	sale.Left:      {"held", "released"},
	sale.GivenBack: {"released"},
	sale.Paid:      {"paid"},
	sale.PaidLate:  {"paid", "refund_due"},
}

// stateOf is the state of an order of Endings, "" if it is nowhere.
func (ev *Evidence) stateOf(id string, listed map[string]Order) string {
	if ev.held.paidIDs[id] {
		return "paid"
	}
	if _, found := listed[id]; found {
		return "held"
	}
	return ev.held.released[id].State
}

// checkEnded: the state of every order is that of its end: none that was paid in time is released.
func (ev *Evidence) checkEnded() Check {
	c := Check{Name: Ended, Examined: len(ev.Endings)}
	listed := ordersByID(ev.orders)
	for _, e := range ev.Endings {
		switch state := ev.stateOf(e.OrderID, listed); {
		case e.End == sale.Failed:
			c.Violate("order %q of user %d: %s", e.OrderID, e.UserID, e.Problem)
		case !slices.Contains(mayBe[e.End], state):
			c.Violate("order %q of user %d was %v and is %q", e.OrderID, e.UserID, e.End, state)
		}
	}
	return c
}

// checkRefunds: the money for an order that is not paid is due to be given back once, and that for a paid
// one is not.
func (ev *Evidence) checkRefunds() Check {
	c := Check{Name: Refunds}
	for _, e := range ev.Endings {
		if e.Payment == "" || e.End == sale.Failed {
			continue
		}
		c.Examined++
		var want []int64
		if !ev.held.paidIDs[e.OrderID] {
			want = []int64{e.Amount}
		}
		if due := ev.held.refunds[e.Payment]; !slices.Equal(due, want) {
			c.Violate("of payment %q for order %q %v is due to be given back, not %v", e.Payment, e.OrderID,
				due, want)
		}
	}
	return c
}
