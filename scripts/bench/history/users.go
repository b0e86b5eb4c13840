package history

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"
)

// userOrder is an order of a user.
type userOrder struct {
	id, key, pieces string // id is "" as long as no answer has shown it
	state           string // one of those of a read; a final order stays Held
	expired         bool   // it was released because its hold was over: only such an order comes back
	ends            int64  // no earlier its hold is over
}

// userState is all orders that a user has had. At most one of them is live: held, paying or paid.
type userState []userOrder

// userModel has events as inputs and no outputs.
var userModel = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{userState(nil)} },
	Step: func(state, input, _ any) (next []any) {
		e := input.(*Event)
		for _, s := range state.(userState).before(e) {
			for _, after := range s.after(e) {
				next = append(next, after)
			}
		}
		return next
	},
	Equal: func(a, b any) bool { return slices.Equal(a.(userState), b.(userState)) },
}).ToModel()

// live is the index of the live order, -1 for none.
func (s userState) live() int {
	return slices.IndexFunc(s, func(o userOrder) bool { return isLive(o.state) })
}

func isLive(state string) bool { return state != Released && state != RefundDue }

// with is the state with a changed order.
func (s userState) with(i int, change func(*userOrder)) userState {
	s = slices.Clone(s)
	change(&s[i])
	return s
}

// to is the state with the order in that state.
func (s userState) to(i int, state string) userState {
	return s.with(i, func(o *userOrder) { o.state = state })
}

// before is the states in which a call may find the orders: a hold may have ended.
func (s userState) before(e *Event) []userState {
	i := s.live()
	if i < 0 || s[i].state == Paid || e.end() < s[i].ends {
		return []userState{s}
	}
	return []userState{s, s.with(i, func(o *userOrder) { o.state, o.expired = Released, true })}
}

// after is the states that a call may lead to; none if its answer cannot be.
func (s userState) after(e *Event) []userState {
	switch e.Call {
	case Order:
		return s.order(e)
	case Read:
		return s.read(e)
	case Cancel:
		return s.cancel(e)
	}
	return s.pay(e)
}

// stays is the state if that is true.
func (s userState) stays(is bool) []userState {
	if !is {
		return nil
	}
	return []userState{s}
}

// shows is the state after an answer that shows the id of an order.
func (s userState) shows(i int, id string) []userState {
	if s[i].id == "" && id != "" {
		return []userState{s.with(i, func(o *userOrder) { o.id = id })}
	}
	return s.stays(s[i].id == id)
}

func (s userState) find(id string) int {
	return slices.IndexFunc(s, func(o userOrder) bool { return o.id == id })
}

func (s userState) order(e *Event) []userState {
	live, own := s.live(), e.Owner == 0
	same := -1 // the order that was placed under this key; of a user with a live order that one counts
	if e.Key != "" {
		same = slices.IndexFunc(s, func(o userOrder) bool { return o.key == e.Key })
	}
	if live >= 0 && same != live {
		same = -1
	}
	free := live < 0 && same < 0
	switch {
	case e.Outcome == Done && same >= 0:
		return s.shows(same, e.ID)
	case e.Outcome == Done && (!free || !own || e.ID == "" || s.find(e.ID) >= 0):
		return nil
	case free && own && (e.Outcome == Done || e.Outcome == Unknown):
		return []userState{append(slices.Clip(s), placed(e))}
	case e.Outcome == HasOrder && own:
		return s.stays(live >= 0 && same < 0)
	case e.Outcome == OutOfStock:
		return s.stays(free)
	}
	return []userState{s}
}

// placed is the order that a call has placed.
func placed(e *Event) userOrder {
	return userOrder{id: e.ID, key: e.Key, pieces: fmt.Sprint(e.Pieces), state: Held, ends: e.over()}
}

func (s userState) read(e *Event) (next []userState) {
	if e.ID == "" {
		return s.stays(s.live() < 0)
	}
	for i, o := range s {
		now := s
		if e.State == Paying && o.state == Held { // the buyer has begun to pay
			now = s.to(i, Paying)
		}
		fits := now[i].state == e.State || e.State == "" && isLive(o.state)
		if fits && o.pieces == fmt.Sprint(e.Pieces) {
			next = append(next, now.shows(i, e.ID)...)
		}
	}
	return next
}

func (s userState) cancel(e *Event) []userState {
	i := s.live()
	mine := i >= 0 && s[i].id == e.ID
	switch {
	case e.Outcome == NoOrder:
		return s.stays(!mine)
	case e.Outcome == IsPaid:
		return s.stays(mine && s[i].state == Paid)
	case e.Outcome != Done && e.Outcome != Unknown:
		return []userState{s}
	case mine && s[i].state != Paid:
		return []userState{s.to(i, Released)}
	}
	return s.stays(e.Outcome == Unknown)
}

// pay: an order is paid, also late if it can be sold again; else the money is due to be given back.
func (s userState) pay(e *Event) []userState {
	i := s.find(e.ID)
	switch {
	case e.Outcome != Done && e.Outcome != Unknown:
		return []userState{s}
	case i < 0:
		return s.stays(e.Outcome == Unknown)
	case s[i].state == Held || s[i].state == Paying:
		return []userState{s.to(i, Paid)}
	case s[i].state == Released && s[i].expired && s.live() < 0:
		return []userState{s.to(i, Paid), s.to(i, RefundDue)}
	case s[i].state == Released:
		return []userState{s.to(i, RefundDue)}
	}
	return []userState{s}
}
