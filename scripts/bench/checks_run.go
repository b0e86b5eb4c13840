package main

import "slices"

// Checks of the books against what this run was told.

// checkAcknowledged: an order answered 200 is in the books, under the id answered and for the user who placed it.
func (ev *evidence) checkAcknowledged() check {
	c := check{Name: "every order answered 200 is there, for its user"}
	byID := ordersByID(ev.orders)
	for _, try := range ev.attempts {
		if try.outcome != placed {
			continue
		}
		c.Examined++
		if o, found := byID[try.orderID]; !found {
			c.violate("order %q of user %d was answered 200 and is not there", try.orderID, try.userID)
		} else if o.UserID != try.userID {
			c.violate("order %q was answered to user %d and is there for user %d", try.orderID, try.userID, o.UserID)
		}
	}
	return c
}

// checkSent: an order of this run, answered or not, has the pieces that its user put into the cart, by order of first add.
func (ev *evidence) checkSent() check {
	c := check{Name: "every order of this run has the pieces that were sent"}
	tries := make(map[uint32]*attempt, len(ev.attempts))
	for i, try := range ev.attempts {
		if try.outcome == placed || try.outcome == unknown {
			tries[try.userID] = &ev.attempts[i]
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
		if !try.explains(o.Items) {
			c.violate("order %q of user %d has (food, count) %v, sent were one piece each of %v",
				o.ID, o.UserID, o.Items, try.foods[:try.adds])
		}
	}
	return c
}

// explains tells whether the items are what the adds of the attempt make. An add that the server may have seen two times may
// count double.
func (a *attempt) explains(items []item) bool {
	var want, most []item
	for i, food := range a.foods[:a.adds] {
		at := slices.IndexFunc(want, func(it item) bool { return it.FoodID == food })
		if at < 0 {
			at = len(want)
			want, most = append(want, item{FoodID: food}), append(most, item{FoodID: food})
		}
		want[at].Count++
		most[at].Count++
		if a.twice[i] {
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

// checkUnexpected: an order that was not there before was answered 200 to this run, or its outcome was unknown.
func (ev *evidence) checkUnexpected() check {
	c := check{Name: "no order came from nowhere, none that was refused"}
	tries := make(map[uint32]*attempt, len(ev.attempts))
	for i, try := range ev.attempts {
		tries[try.userID] = &ev.attempts[i]
	}
	for _, o := range ev.orders {
		if _, earlier := ev.before[o.ID]; earlier {
			continue
		}
		c.Examined++
		try, ours := tries[o.UserID]
		switch {
		case !ours:
			c.violate("order %q of user %d, who took no part in this run, was not there before", o.ID, o.UserID)
		case try.outcome == refused:
			c.violate("order %q of user %d is there, its order was refused", o.ID, o.UserID)
		case try.outcome == notOrdered || try.outcome == stranded:
			c.violate("order %q of user %d is there, none was sent", o.ID, o.UserID)
		case try.outcome == placed && try.orderID != o.ID:
			c.violate("order %q of user %d is there, answered was %q", o.ID, o.UserID, try.orderID)
		}
	}
	return c
}

// checkSettled: with -retry no outcome stays open. Whom the end of the load kept from ordering does not count.
func (ev *evidence) checkSettled() check {
	c := check{Name: "every user of this run who was not refused has exactly one order"}
	count := make(map[uint32]int, len(ev.orders))
	for _, o := range ev.orders {
		count[o.UserID]++
	}
	for _, try := range ev.attempts {
		if try.outcome == refused || try.outcome == notOrdered {
			continue
		}
		if c.Examined++; count[try.userID] != 1 {
			c.violate("user %d has %d orders; the outcome of its flow: %v", try.userID, count[try.userID], try.outcome)
		}
	}
	return c
}

// checkEarlier: an order that was there before the load is there still, unchanged.
func (ev *evidence) checkEarlier() check {
	c := check{Name: "every order from before the load is there, unchanged", Examined: len(ev.before)}
	byID := ordersByID(ev.orders)
	for id, was := range ev.before {
		is, found := byID[id]
		if !found {
			c.violate("order %q of user %d was there before and is gone", id, was.UserID)
		} else if is.UserID != was.UserID || is.Total != was.Total || !slices.Equal(is.Items, was.Items) {
			c.violate("order %q was %v and is %v", id, was, is)
		}
	}
	return c
}
