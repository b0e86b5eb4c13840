package audit

import "flashsale/scripts/bench/history"

// WriteStock writes the pieces left, by every list that was read, as of some time since began.
func (ev *Evidence) WriteStock(h *history.Writer, began int64) {
	for _, l := range ev.listings {
		for _, f := range l.foods {
			h.Write(history.Event{Call: history.Stock, Food: f.ID, Count: f.Stock, Began: began, Ended: h.Now(),
				Outcome: history.Done})
		}
	}
}

// WriteOrders writes what each user of the load has in the end, as of some time since began.
func (ev *Evidence) WriteOrders(h *history.Writer, began int64) {
	e := history.Event{Call: history.Read, Began: began, Ended: h.Now(), Outcome: history.Done}
	for _, o := range ev.orders {
		if _, earlier := ev.before[o.ID]; earlier {
			continue
		}
		e.User, e.ID, e.Pieces = o.UserID, o.ID, history.Pieces{}
		for _, it := range o.Items {
			e.Pieces[it.FoodID] += it.Count
		}
		h.Write(e)
	}
	bought := ev.Bought()
	for _, try := range ev.Attempts {
		if !bought[try.UserID] {
			e.User, e.ID, e.Pieces = try.UserID, "", nil
			h.Write(e)
		}
	}
}
