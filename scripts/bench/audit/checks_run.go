package audit

import (
	"slices"

	"flashsale/scripts/bench/sale"
)

// Checks of the books against the answers to this run.

// checkAcknowledged: an order answered 200 is in the books, under the id answered and for the user who
// placed it.
func (ev *Evidence) checkAcknowledged() Check {
	c := Check{Name: Acknowledged}
	byID := ev.ordersByID()
	for _, try := range ev.Attempts {
		if try.Outcome != sale.Placed {
			continue
		}
		c.Examined++
		if o, found := byID[try.OrderID]; !found {
			c.Violate("order %q of user %d was answered 200 and is not there", try.OrderID, try.UserID)
		} else if o.UserID != try.UserID {
			c.Violate("order %q was answered to user %d and is there for user %d", try.OrderID,
				try.UserID, o.UserID)
		}
	}
	return c
}

// checkSent: an order of this run, answered or not, has the pieces that its user put into the cart, by order
// of first add.
func (ev *Evidence) checkSent() Check {
	c := Check{Name: Sent}
	tries := make(map[uint32]*sale.Attempt, len(ev.Attempts))
	for i, try := range ev.Attempts {
		if try.Outcome == sale.Placed || try.Outcome == sale.Unknown {
			tries[try.UserID] = &ev.Attempts[i]
		}
	}
	for _, o := range ev.orders {
		if _, earlier := ev.before[o.ID]; earlier {
			continue
		}
		try, ours := tries[o.UserID]
		if !ours {
			continue
		}
		c.Examined++
		if !explains(try, o.Items) {
			c.Violate("order %q of user %d has (food, count) %v, sent were one piece each of %v",
				o.ID, o.UserID, o.Items, try.Foods[:try.Adds])
		}
	}
	return c
}

// explains reports whether the adds of the attempt make these items. An add that the server may have seen
// two times may count double.
func explains(a *sale.Attempt, items []Item) bool {
	var want, most []Item
	for i, food := range a.Foods[:a.Adds] {
		at := slices.IndexFunc(want, func(it Item) bool { return it.FoodID == food })
		if at < 0 {
			at = len(want)
			want, most = append(want, Item{FoodID: food}), append(most, Item{FoodID: food})
		}
		want[at].Count++
		most[at].Count++
		if a.Twice[i] {
			most[at].Count++
		}
	}
	if len(items) != len(want) {
		return false
	}
	for i, it := range items {
		if it.FoodID != want[i].FoodID || it.Count < want[i].Count || it.Count > most[i].Count {
			return false
		}
	}
	return true
}

// checkUnexpected: this run placed each new order, or does not know its outcome.
func (ev *Evidence) checkUnexpected() Check {
	c := Check{Name: Unexpected}
	tries := make(map[uint32]*sale.Attempt, len(ev.Attempts))
	for i, try := range ev.Attempts {
		tries[try.UserID] = &ev.Attempts[i]
	}
	for _, o := range ev.orders {
		if _, earlier := ev.before[o.ID]; earlier {
			continue
		}
		c.Examined++
		try, ours := tries[o.UserID]
		switch {
		case !ours:
			c.Violate("order %q of user %d, who took no part in this run, was not there before",
				o.ID, o.UserID)
		case try.Outcome == sale.Refused:
			c.Violate("order %q of user %d is there, its order was refused", o.ID, o.UserID)
		case try.Outcome == sale.NotOrdered || try.Outcome == sale.Stranded:
			c.Violate("order %q of user %d is there, none was sent", o.ID, o.UserID)
		case try.Outcome == sale.Placed && try.OrderID != o.ID:
			c.Violate("order %q of user %d is there, answered was %q", o.ID, o.UserID, try.OrderID)
		}
	}
	return c
}

// checkSettled: with -retry no outcome stays open. Flows that the end of the load cut off before their order
// do not count.
func (ev *Evidence) checkSettled() Check {
	c := Check{Name: Settled}
	count := make(map[uint32]int, len(ev.orders))
	for _, o := range ev.orders {
		count[o.UserID]++
	}
	for _, o := range ev.held.released {
		count[o.UserID]++
	}
	for _, try := range ev.Attempts {
		if try.Outcome == sale.Refused || try.Outcome == sale.NotOrdered {
			continue
		}
		if c.Examined++; count[try.UserID] != 1 {
			c.Violate("user %d has %d orders; the outcome of its flow: %v", try.UserID,
				count[try.UserID], try.Outcome)
		}
	}
	return c
}

// checkEarlier: each order from before the load is there still, unchanged.
func (ev *Evidence) checkEarlier() Check {
	c := Check{Name: Earlier, Examined: len(ev.before)}
	byID := ev.ordersByID()
	for id, was := range ev.before {
		is, found := byID[id]
		if !found {
			c.Violate("order %q of user %d was there before and is gone", id, was.UserID)
		} else if is.UserID != was.UserID || is.Total != was.Total || !slices.Equal(is.Items, was.Items) {
			c.Violate("order %q was %v and is %v", id, was, is)
		}
	}
	return c
}
