package history

import (
	"fmt"
	"math"

	"github.com/anishathalye/porcupine"
)

// A history is checked in parts, because the search grows fast with the number of calls at the same time.
//
// The part of a user is all its orders and reads. The model is exact: one order, by the user's own cart,
// with the pieces of that cart, which never changes and never goes away; again under its key the same order.
//
// The part of a food is the stock and all calls that may change it. Of a user it has one sale at most, which
// the user's part allows: it begins with the first order that may have sold, and ends with the first answer
// that shows an order. The part sees only what an order takes of this food. That can only weaken the check:
// what it finds is wrong in the whole history too. It finds pieces sold or taken back below 0, a refusal as
// out of stock although there is enough, and stock that is not what must be left. It cannot find an order
// that takes its foods at different times, unless one of them is never taken, nor an order of several foods
// that is refused although there is enough of each.

// never is the end of a call of unknown outcome.
const never = math.MaxInt64

// userState is what a user has. The zero value is no order.
type userState struct {
	placed          bool
	id, key, pieces string // id is "" as long as no answer has shown it
}

func placed(e *Event, id string) userState {
	return userState{placed: true, id: id, key: e.Key, pieces: fmt.Sprint(e.Pieces)}
}

// userModel has events as inputs and no outputs.
var userModel = porcupine.Model{
	Init: func() any { return userState{} },
	Step: func(state, input, _ any) (bool, any) {
		s, e := state.(userState), input.(*Event)
		own, same := e.Owner == 0, e.Key != "" && e.Key == s.key
		known := s
		known.id = e.ID // what the answer shows
		fits := s.placed && e.ID != "" && (s.id == "" || s.id == e.ID)
		switch {
		case e.Call == Read && !s.placed:
			return e.ID == "", s
		case e.Call == Read:
			return fits && s.pieces == fmt.Sprint(e.Pieces), known
		case e.Outcome == Done && !s.placed:
			return own && e.ID != "", placed(e, e.ID)
		case e.Outcome == Done:
			return fits && same, known
		case e.Outcome == Unknown && !s.placed && own:
			return true, placed(e, "")
		case e.Outcome == HasOrder && own:
			return s.placed && !same, s
		case e.Outcome == OutOfStock:
			return !s.placed, s
		}
		return true, s
	},
}

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
		case c.outcome == OutOfStock:
			return s.left-s.down+c.count < 0, s
		}
		if c.outcome != Done {
			return true, s
		}
		s.left += c.count
		return c.count > 0 || s.left+s.up >= 0, s
	},
}

// foodCall is what a call shows of one food.
type foodCall struct {
	call, outcome string
	count         int64 // pieces left, or the change, below 0 for an order
}

// part is some events and what a model makes of them.
type part struct {
	name   string // "user 7", "food 3"
	model  porcupine.Model
	calls  []porcupine.Operation
	events []*Event
}

// parts cuts a history into its parts, by name.
func parts(events []*Event) map[string]*part {
	all, users := map[string]*part{}, map[uint32]*part{}
	get := func(kind string, id any, model porcupine.Model) *part {
		name := fmt.Sprint(kind, " ", id)
		if all[name] == nil {
			all[name] = &part{name: name, model: model}
		}
		return all[name]
	}
	food := func(id int64) *part { return get("food", id, foodModel) }
	for _, e := range events {
		if (e.Call == Read || e.Call == Stock) && e.Outcome != Done {
			continue // shows nothing
		}
		switch e.Call {
		case Order, Read:
			p := users[e.User]
			if p == nil {
				p = get("user", e.User, userModel)
				users[e.User] = p
			}
			p.add(e, e.Ended, e)
		case Restock, Stock:
			food(e.Food).add(e, e.Ended, foodCall{e.Call, e.Outcome, e.Count})
		}
	}
	for _, p := range users {
		p.sell(food)
	}
	return all
}

// add adds a call that shows what an event shows.
func (p *part) add(e *Event, ended int64, shows any) {
	began := e.Began
	if e.Outcome == Unknown {
		ended = never
		if c, ok := shows.(foodCall); ok && c.outcome == Unknown {
			ended = began // from now on it may happen
		}
	}
	p.calls = append(p.calls, porcupine.Operation{Input: shows, ClientId: e.Client, Call: began, Return: ended})
	p.events = append(p.events, e)
}

// sell adds the sale of a user, and its refusals as out of stock, to the parts of the foods.
func (p *part) sell(food func(int64) *part) {
	var sold *Event // the first one sent that may have sold
	ended, outcome := int64(never), Unknown
	for _, e := range p.events {
		mayHaveSold := e.Call == Order && e.Owner == 0 && (e.Outcome == Done || e.Outcome == Unknown)
		if mayHaveSold && (sold == nil || e.Began < sold.Began) {
			sold = e
		}
		if e.Outcome == Done && e.ID != "" {
			ended, outcome = min(ended, e.Ended), Done
		}
		if e.Outcome == OutOfStock && len(e.Pieces) == 1 {
			for id, count := range e.Pieces {
				food(id).add(e, e.Ended, foodCall{Order, OutOfStock, -count})
			}
		}
	}
	if sold == nil {
		return
	}
	for id, count := range sold.Pieces {
		f := food(id)
		shown := *sold
		shown.Outcome = outcome
		f.add(&shown, ended, foodCall{Order, outcome, -count})
	}
}
