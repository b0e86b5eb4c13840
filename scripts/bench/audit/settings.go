package audit

import (
	"fmt"
	"slices"

	"flashsale/scripts/bench/sale"
)

// otherSettings is the error of a catalogue that is not the server's. Violations found with it would be the
// flags' fault, not the sale's.
func otherSettings(server, format string, args ...any) error {
	return fmt.Errorf("%w: %s "+format+"; give bench the server's catalogue settings (-users, -foods, "+
		"-stock, ...)",
		append([]any{sale.ErrUsage, server}, args...)...)
}

// Matches refuses, as an ErrUsage, a catalogue that differs from the servers' (readiness).
func (ev *Evidence) Matches(readiness map[string]map[string]any) error {
	for server, answer := range readiness {
		if users, known := answer["users"].(float64); known && int(users) != len(ev.Sale.Users) {
			return otherSettings(server, "has %.0f users, bench was told %d", users, len(ev.Sale.Users))
		}
	}
	if err := ev.matchFoods(); err != nil {
		return err
	}
	return ev.matchStock()
}

// matchFoods compares ids and prices with the catalogue.
func (ev *Evidence) matchFoods() error {
	for _, l := range ev.listings {
		if len(l.foods) != len(ev.Sale.Foods) {
			return otherSettings(l.server, "sells %d foods, bench was told %d", len(l.foods),
				len(ev.Sale.Foods))
		}
		for _, offered := range l.foods {
			if f, found := ev.Sale.Food(offered.ID); !found || f.Price != offered.Price {
				return otherSettings(l.server, "sells food %d at %d, bench was told %d", offered.ID,
					offered.Price, f.Price)
			}
		}
	}
	return nil
}

// matchStock compares the initial stock of a server with the catalogue. A fault of the sale differs from
// food to food; only a wrong catalogue is off by the same number for every food, or has too many pieces
// before the first order.
func (ev *Evidence) matchStock() error {
	sold := ev.sold()
	for _, l := range ev.listings {
		off := make([]int64, len(l.foods))
		for i, offered := range l.foods {
			f, _ := ev.Sale.Food(offered.ID)
			off[i] = offered.Stock + sold[f.ID] - f.Stock - ev.restocked[f.ID]
		}
		at := slices.IndexFunc(off, func(n int64) bool { return n > 0 && len(ev.orders) == 0 })
		if at < 0 && slices.Min(off) == slices.Max(off) {
			at = 0
		}
		if at >= 0 && off[at] != 0 {
			offered := l.foods[at]
			began := offered.Stock + sold[offered.ID] - ev.restocked[offered.ID]
			return otherSettings(l.server, "began with %d pieces of food %d (%d left + %d sold), bench "+
				"was told %d",
				began, offered.ID, offered.Stock, sold[offered.ID], began-off[at])
		}
	}
	return nil
}
