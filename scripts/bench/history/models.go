package history

import (
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"
)

// A history is checked in parts, because the search grows fast with the number of calls at the same time.
//
// The part of a user is all its orders, with what ends them, and its reads (users.go). That model is exact,
// but for the end of a hold, which nobody calls: it may come at any time from when the hold is over.
//
// The part of a food is the stock and all calls that may change it (foods.go). It sees only what an order
// takes of this food. That can only weaken the check: what it finds is wrong in the whole history too. It
// finds pieces sold or taken back below 0, a refusal as out of stock although there is enough, and stock
// that is not what must be left. It cannot find an order that takes its foods at different times, unless one
// of them is never taken, nor an order of several foods that is refused although there is enough of each.

// never is the end of a call of unknown outcome.
const never = math.MaxInt64

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
		case Order, Read, Cancel, Pay:
			p := users[e.User]
			if p == nil {
				p = get("user", e.User, userModel)
				users[e.User] = p
			}
			p.add(e, e.Began, e.end(), e)
		case Restock, Stock:
			food(e.Food).change(e, e.Began, e.Ended, foodCall{e.Call, e.Outcome, e.Count})
		}
	}
	for _, p := range users {
		p.sell(food)
	}
	return all
}

// end is when a call can have happened at the latest.
func (e *Event) end() int64 {
	if e.Outcome == Unknown {
		return never
	}
	return e.Ended
}

// over is when the hold of a new order is over at the earliest, never for a final one. Redis counts holds in
// whole milliseconds, by a clock that may be a little faster.
func (e *Event) over() int64 {
	if e.Hold == 0 {
		return never
	}
	return e.Began + e.Hold - e.Hold/1000 - int64(time.Millisecond)
}

// add adds what an event shows of something that has happened between two times.
func (p *part) add(e *Event, began, ended int64, shows any) {
	p.calls = append(p.calls, porcupine.Operation{Input: shows, ClientId: e.Client, Call: began, Return: ended})
	p.events = append(p.events, e)
}
