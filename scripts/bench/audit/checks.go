package audit

import (
	"maps"
	"slices"

	"flashsale/scripts/bench/sale"
)

// Checks of the books alone: they hold for every sale at every moment.

// checkIDs: an order's id is its own and not empty.
func (ev *Evidence) checkIDs() Check {
	c := Check{Name: ListedOnce, Examined: len(ev.orders)}
	seen := make(map[string]uint32, len(ev.orders))
	for _, o := range ev.orders {
		if user, twice := seen[o.ID]; twice {
			c.Violate("order %q of user %d is listed again, of user %d", o.ID, user, o.UserID)
		} else if o.ID == "" {
			c.Violate("an order of user %d has no id", o.UserID)
		}
		seen[o.ID] = o.UserID
	}
	return c
}

// checkUsers: buyers are users of the catalogue and have one order each.
func (ev *Evidence) checkUsers() Check {
	c := Check{Name: OnePerUser, Examined: len(ev.orders)}
	seen := make(map[uint32]string, len(ev.orders))
	for _, o := range ev.orders {
		if first, twice := seen[o.UserID]; twice {
			c.Violate("user %d has order %q and order %q", o.UserID, first, o.ID)
		} else if !ev.Sale.HasUser(o.UserID) {
			c.Violate("order %q is of user %d, who is not in the catalogue", o.ID, o.UserID)
		}
		seen[o.UserID] = o.ID
	}
	return c
}

// checkPieces: an order has 1 to sale.PiecesMax pieces of foods of the catalogue, each food listed once.
func (ev *Evidence) checkPieces() Check {
	c := Check{Name: Pieces, Examined: len(ev.orders)}
	for _, o := range ev.orders {
		pieces := int64(0)
		for i, it := range o.Items {
			pieces += it.Count
			again := slices.ContainsFunc(o.Items[:i],
				func(other Item) bool { return other.FoodID == it.FoodID })
			if _, known := ev.Sale.Food(it.FoodID); !known || again || it.Count < 1 {
				c.Violate("order %q of user %d has %d pieces of food %d (in the catalogue: %t, listed "+
					"before: %t)",
					o.ID, o.UserID, it.Count, it.FoodID, known, again)
			}
		}
		if pieces < 1 || pieces > sale.PiecesMax {
			c.Violate("order %q of user %d has %d pieces", o.ID, o.UserID, pieces)
		}
	}
	return c
}

// checkTotals: an order's total is the sum of price times count.
func (ev *Evidence) checkTotals() Check {
	c := Check{Name: Totals, Examined: len(ev.orders)}
	for _, o := range ev.orders {
		var total int64
		for _, it := range o.Items {
			f, _ := ev.Sale.Food(it.FoodID)
			total += f.Price * it.Count
		}
		if total != o.Total {
			c.Violate("order %q of user %d has total %d, its pieces cost %d", o.ID, o.UserID, o.Total, total)
		}
	}
	return c
}

// sold counts the pieces of each food in all orders.
func (ev *Evidence) sold() map[int64]int64 { return piecesOf(ev.orders) }

func piecesOf(orders []Order) map[int64]int64 {
	pieces := map[int64]int64{}
	for _, o := range orders {
		for _, it := range o.Items {
			pieces[it.FoodID] += it.Count
		}
	}
	return pieces
}

// checkOversold: no food is sold more often than there were pieces.
func (ev *Evidence) checkOversold() Check {
	c := Check{Name: Oversold, Examined: len(ev.Sale.Foods)}
	sold := ev.sold()
	for _, f := range ev.Sale.Foods {
		if there := f.Stock + ev.restocked[f.ID]; sold[f.ID] > there {
			c.Violate("food %d is sold %d times, there were %d", f.ID, sold[f.ID], there)
		}
	}
	return c
}

// checkStock: on every server, the pieces left and the pieces sold add up to the initial stock and the
// restocked pieces.
func (ev *Evidence) checkStock() Check {
	c := Check{Name: Stock}
	sold := ev.sold()
	for _, l := range ev.listings {
		left := make(map[int64]int64, len(l.foods))
		for _, offered := range l.foods {
			if _, twice := left[offered.ID]; twice {
				c.Violate("%s lists food %d twice", l.server, offered.ID)
			}
			left[offered.ID] = offered.Stock
		}
		for _, f := range ev.Sale.Foods {
			c.Examined++
			stock, listed := left[f.ID]
			if !listed {
				c.Violate("%s does not list food %d", l.server, f.ID)
			} else if there := f.Stock + ev.restocked[f.ID]; stock+sold[f.ID] != there {
				c.Violate("food %d on %s: %d left + %d sold is not %d", f.ID, l.server, stock,
					sold[f.ID], there)
			}
			delete(left, f.ID)
		}
		for _, id := range slices.Sorted(maps.Keys(left)) {
			c.Violate("%s lists food %d, which is not in the catalogue", l.server, id)
		}
	}
	return c
}
