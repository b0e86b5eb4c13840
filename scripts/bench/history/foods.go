package history

import (
	"maps"
	"slices"

	"github.com/anishathalye/porcupine"
)

// foodState is what is left of a food. All calls of unknown outcome together may have taken up to down
// pieces and added up to up pieces. A search for which of them happened would never end.
type foodState struct {
	known    bool
	left     int64
	down, up int64
}

// foodModel has foodCalls as inputs and no outputs.
var foodModel = porcupine.Model{
	Init: func() any { return foodState{} },
	Step: func(state, input, _ any) (bool, any) {
		s, c := state.(foodState), input.(foodCall)
		switch {
		case c.call == Stock && !s.known:
			return true, foodState{known: true, left: c.count}
		case c.call == Stock:
			return s.left-s.down <= c.count && c.count <= s.left+s.up, s
		case c.outcome == Unknown:
			s.down += max(-c.count, 0)
			s.up += max(c.count, 0)
			return true, s
		case c.outcome == undone || c.outcome == happened:
			s.down -= max(-c.count, 0)
			s.up -= max(c.count, 0)
		case c.outcome == OutOfStock:
			return s.left-s.down+c.count < 0, s
		}
		if c.outcome != Done && c.outcome != happened {
			return true, s
		}
		s.left += c.count
		return c.count > 0 || s.left+s.up >= 0, s
	},
}

// What has become of an unknown change: it has happened, or it has been undone if it has happened.
const (
	happened = "happened"
	undone   = "undone"
)

// foodCall is what a call shows of one food.
type foodCall struct {
	call, outcome string
	count         int64 // pieces left, or the change, below 0 for an order
}

// change adds a change of the stock. One of unknown outcome may happen from its begin on.
func (p *part) change(e *Event, began, ended int64, c foodCall) {
	if c.outcome == Unknown {
		ended = began
	}
	p.add(e, began, ended, c)
}

// sell adds the orders of a user, and its refusals as out of stock, to the parts of the foods.
func (p *part) sell(food func(int64) *part) {
	for _, e := range p.events {
		if e.Outcome == OutOfStock && len(e.Pieces) == 1 {
			for id, count := range e.Pieces {
				food(id).change(e, e.Began, e.Ended, foodCall{Order, OutOfStock, -count})
			}
		}
	}
	for _, s := range p.sales() {
		s.move(p.events, func(e *Event, outcome string, sign, began, ended int64) {
			for id, count := range s.sent.Pieces {
				food(id).change(e, began, ended, foodCall{Order, outcome, sign * count})
			}
		})
	}
}

// sale is an order that may have sold. It begins with the first call that may have sold, and ends with the
// first answer that shows the order.
type sale struct {
	sent  *Event
	id    string // "" = not known
	shown int64  // never = it may not have sold
}

// sales are the orders of a user, as the user's part allows them: one under each key, and where orders are
// final one in all.
func (p *part) sales() (list []*sale) {
	all := map[string]*sale{} // by key
	for _, e := range p.events {
		if e.Call != Order || e.Owner != 0 || e.Outcome != Done && e.Outcome != Unknown {
			continue
		}
		key := e.Key
		if e.Hold == 0 {
			key = ""
		}
		s := all[key]
		if s == nil {
			s = &sale{sent: e, shown: never}
			all[key] = s
		}
		if e.Began < s.sent.Began {
			s.sent = e
		}
		if e.ID != "" {
			s.id = e.ID
		}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		s := all[key]
		for _, e := range p.events {
			if e.Outcome == Done && e.ID != "" && (e.ID == s.id || s.sent.Hold == 0) {
				s.shown = min(s.shown, e.Ended)
			}
		}
		list = append(list, s)
	}
	return list
}

// mover adds a change of the stock by an order: sign -1 takes its pieces, 1 gives them back.
type mover func(e *Event, outcome string, sign, began, ended int64)

// move moves the pieces of an order: it takes them, may give them back, and may take them again when it is
// paid late. What is not certain counts as unknown, until it is. That costs no search, although a release
// may come at any time for long. Where one of two unknown moves undoes the other, the first one alone allows
// for both.
func (s *sale) move(events []*Event, move mover) {
	if s.shown == never {
		move(s.sent, Unknown, -1, s.sent.Began, never)
		return
	}
	move(s.sent, Done, -1, s.sent.Began, s.shown)
	if s.sent.Hold == 0 {
		return
	}
	from, till, gone := s.release(events)
	began, ended, pays, paid := s.payment(events)
	switch {
	case gone != nil:
		move(gone, Unknown, 1, min(from, till), never)
		move(gone, happened, 1, till, till)
		if pays != nil {
			move(pays, Unknown, -1, min(began, ended), never)
		}
		if paid != nil {
			move(paid, happened, -1, ended, ended)
		}
	case from < never:
		move(s.sent, Unknown, 1, from, never)
		if paid != nil {
			move(paid, undone, 1, max(from, ended), max(from, ended))
		}
	}
}

// release is from when on the pieces may be back, never if they cannot be; and till when they are back, as
// that event shows, never if that is not certain.
func (s *sale) release(events []*Event) (from, till int64, shows *Event) {
	over := s.sent.over()
	from, till = over, never
	var paid, inTime bool
	var seen int64 // when it was there last
	for _, e := range events {
		if s.isGone(e) && e.Ended < till {
			till, shows = e.Ended, e
		}
		if e.ID != s.id {
			continue
		}
		switch {
		case e.Call == Pay:
			paid = true
			inTime = inTime || e.Outcome == Done && e.Ended < over
		case e.Call == Read && isLive(e.State):
			seen = max(seen, e.Began)
			inTime = inTime || e.State == Paid && e.Ended < over
		}
	}
	if inTime {
		from = never
	}
	for _, e := range events {
		if e.Call == Cancel && e.ID == s.id && (e.Outcome == Done || e.Outcome == Unknown) {
			from = min(from, e.Began)
		}
	}
	if !paid { // else it may have been released before, and sold again
		from = max(from, seen)
	}
	return from, till, shows
}

// isGone reports whether an event shows that the order was released before the event ended.
func (s *sale) isGone(e *Event) bool {
	switch {
	case e.ID == s.id:
		return e.Call == Cancel && (e.Outcome == Done || e.Outcome == NoOrder) ||
			e.Call == Read && !isLive(e.State)
	case e.Began < s.shown: // it may be from before the order
		return false
	case e.Call == Read:
		return isLive(e.State) // the user has another order, or none
	}
	return e.Call == Order && (e.Outcome == Done || e.Outcome == OutOfStock)
}

// payment is when an order was paid: from the first call that tells of it to the end of the first one that
// was answered, or to the first read that shows it; never and nil for what is not there. An order whose
// payment is due to be given back was not paid.
func (s *sale) payment(events []*Event) (began, ended int64, pays, shows *Event) {
	began, ended = never, never
	for _, e := range events {
		switch {
		case e.ID != s.id:
		case e.Call == Read && e.State == RefundDue:
			return never, never, nil, nil
		case e.Call == Read && e.State == Paid:
			shows, ended = e, min(ended, e.Ended)
		case e.Call == Pay && (e.Outcome == Done || e.Outcome == Unknown):
			if ended = min(ended, e.end()); e.Began < began {
				began, pays = e.Began, e
			}
		}
	}
	if pays == nil && shows != nil { // somebody else told of it
		began, pays = ended, shows
	}
	return began, ended, pays, shows
}
