package live

import (
	"slices"
	"time"
)

// marksMax is how many marks of a sale are kept: the first and the last ones.
const marksMax = 100

// quietAfter is the time after which nothing happens any more in a sale that is closed or sold out: the
// curve ends there, so that the following days do not take the place of its seconds.
const quietAfter = time.Minute

// The kinds of marks.
const (
	Opened    = "opened"
	Paused    = "paused"
	Resumed   = "resumed"
	Closed    = "closed"
	Restocked = "restocked"
	SoldOut   = "sold_out"
)

// Mark is a moment of the sale that the curve shows.
type Mark struct {
	At   time.Time `json:"at"` // UTC
	What string    `json:"what"`
	Food int64     `json:"food_id,omitempty"` // of Restocked, as is Add
	Add  int64     `json:"add,omitempty"`
}

// withMarks returns the marks with those that are new, in order, and the new ones.
func withMarks(marks, found []Mark) (all, added []Mark) {
	for _, m := range found {
		if !slices.Contains(marks, m) {
			added = append(added, m)
		}
	}
	all = slices.Concat(marks, added)
	slices.SortStableFunc(all, func(a, b Mark) int { return a.At.Compare(b.At) })
	if len(all) > marksMax {
		all = slices.Delete(all, 1, 1+len(all)-marksMax)
	}
	return all, added
}

// isOver reports whether nothing happens in the sale any more.
func isOver(marks []Mark, now time.Time) bool {
	var closed, soldOut time.Time
	for _, m := range marks {
		switch m.What {
		case Opened, Paused, Resumed:
			closed = time.Time{}
		case Closed:
			closed = m.At
		case SoldOut:
			soldOut = m.At
		case Restocked:
			if m.Add > 0 {
				soldOut = time.Time{}
			}
		}
	}
	over := func(t time.Time) bool { return !t.IsZero() && now.Sub(t) > quietAfter }
	return over(closed) || over(soldOut)
}
