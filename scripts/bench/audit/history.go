package audit

import "flashsale/scripts/bench/history"

// WriteStock writes the pieces left, by every list that was read, as of some time since began. Where orders
// are held, holds may end meanwhile; the lists then fit the sums, which were read last.
func (ev *Evidence) WriteStock(h *history.Writer, began int64) {
	if ev.Endings != nil {
		began = h.At(ev.held.read) + 1 // after all that was read before
	}
	for _, l := range ev.listings {
		for _, f := range l.foods {
			h.Write(history.Event{Call: history.Stock, Food: f.ID, Count: f.Stock, Began: began, Ended: h.Now(),
				Outcome: history.Done})
		}
	}
}

// WriteOrders writes what each user of the load has in the end, and what became of its held orders, as of
// some time since began.
func (ev *Evidence) WriteOrders(h *history.Writer, began int64) {
	e := history.Event{Call: history.Read, Began: began, Ended: h.Now(), Outcome: history.Done}
	if ev.Endings != nil {
		e.Ended = h.At(ev.held.read)
	}
	write := func(o Order, state string) {
		e.User, e.ID, e.State, e.Pieces = o.UserID, o.ID, state, history.Pieces{}
		for _, it := range o.Items {
			e.Pieces[it.FoodID] += it.Count
		}
		h.Write(e)
	}
	for _, o := range ev.orders {
		state := ""
		if ev.held.paidIDs[o.ID] {
			state = history.Paid
		}
		if _, earlier := ev.before[o.ID]; !earlier {
			write(o, state)
		}
	}
	for _, o := range ev.held.released {
		write(o.Order, o.State)
	}
	bought := ev.Bought()
	for _, try := range ev.Attempts {
		if !bought[try.UserID] {
			e.User, e.ID, e.State, e.Pieces = try.UserID, "", "", nil
			h.Write(e)
		}
	}
}
