package redisx

import (
	_ "embed" // the scripts
	"errors"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

var (
	// stateSource is the states of a sale, for the scripts that look at them.
	//
	//go:embed state.lua
	stateSource string
	//go:embed turn.lua
	turnSource string

	turnScript = pipeline.NewScript(stateSource + turnSource)
)

// State is what a sale does at a moment. It follows from its times, from what root has done, and from the
// clock of Redis.
type State string

// The states. Outside StateOpen carts are filled, and no order is placed.
const (
	StateScheduled State = "scheduled" // it opens by itself
	StateOpen      State = "open"
	StatePaused    State = "paused" // until root opens it again
	StateClosed    State = "closed" // at its time or by root, who can open it again
)

// States are all states.
var States = []State{StateScheduled, StateOpen, StatePaused, StateClosed}

// Outcomes of a change of the state.
var (
	ErrStateConflict = errors.New("the sale cannot go from its state to that one")
	ErrWrongTimes    = errors.New("the sale would close before it opens")
)

// What turn.lua returns.
const (
	turnDone       = 0
	turnNoSale     = 1
	turnConflict   = 2
	turnWrongTimes = 3
)

// Turn is the state of a sale at a moment of the clock of Redis, to the millisecond.
type Turn struct {
	State State
	Now   time.Time
	Times
}

// Times are when a sale opens and closes by itself. The zero time is none: it is open from its beginning,
// or never closes.
type Times struct {
	OpensAt, ClosesAt time.Time
}

// WholeMillisecond is a time as a sale keeps it: the first whole millisecond that is not before t, so that
// no sale opens early.
func WholeMillisecond(t time.Time) time.Time {
	return t.Add(time.Millisecond - 1).Truncate(time.Millisecond)
}

// next returns the moment at which the state changes by the clock, the zero time where it does not.
func (t *Turn) next() time.Time {
	switch t.State {
	case StateScheduled:
		return t.OpensAt
	case StateOpen, StatePaused:
		return t.ClosesAt
	}
	return time.Time{}
}

// Change is what somebody wants of a sale. What it leaves out stays as it is.
type Change struct {
	By       string     // who: "root", "terminal"; it stands in the log
	State    State      // "" leaves it; then a change of the times must not change it either
	OpensAt  *time.Time // nil leaves it, the zero time takes it away
	ClosesAt *time.Time
}

// Change changes the state or the times of the sale, and returns them as they are afterwards. To open a
// sale ends a pause, undoes that it was closed, moves a later time of opening to now, and takes away a time
// of closing that is over; to schedule it does the same and needs a time of opening that is to come.
// Errors: ErrStateConflict, ErrWrongTimes, ErrSaleGone (nothing is changed), ErrUnavailable (unknown).
func (s *Sale) Change(c Change) (Turn, error) {
	var t turned
	if err := s.redis.Do(s.turn(&t, c)); err != nil {
		return Turn{}, err
	}
	return s.outcome(&t)
}

// turned is the reply of turn.lua.
type turned struct {
	code, now, opens, closes int64
	state                    string
}

// turn makes the call of turn.lua. Without By it wants no change.
func (s *Sale) turn(t *turned, c Change) *pipeline.Call {
	reply := &radix.Tuple{&t.code, &t.state, &t.now, &t.opens, &t.closes}
	return turnScript.Call(reply, []string{saleKey, gatePrefix + s.id, logPrefix + s.id},
		s.id, c.By, string(c.State), wantedTime(c.OpensAt), wantedTime(c.ClosesAt))
}

// wantedTime is a time of a change as turn.lua reads it.
func wantedTime(t *time.Time) string {
	switch {
	case t == nil:
		return ""
	case t.IsZero():
		return "0"
	}
	return millisecondsOf(*t)
}

func (s *Sale) outcome(t *turned) (Turn, error) {
	turn := Turn{State(t.state), time.UnixMilli(t.now).UTC(), Times{timeOf(t.opens), timeOf(t.closes)}}
	switch t.code {
	case turnDone:
		return turn, nil
	case turnNoSale:
		return Turn{}, s.missed()
	case turnConflict:
		return turn, ErrStateConflict
	case turnWrongTimes:
		return turn, ErrWrongTimes
	}
	return Turn{}, unknownCode("turn.lua", t.code)
}

// timeOf is the time of Unix milliseconds, the zero time for 0.
func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
