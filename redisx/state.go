package redisx

import (
	"errors"
	"strconv"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
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

// What state_change.lua returns.
const (
	stateDone       = 0
	stateNoSale     = 1
	stateConflict   = 2
	stateWrongTimes = 3
)

// Current is the state of a sale at a moment of the clock of Redis, to the millisecond.
type Current struct {
	State State
	Now   time.Time
	Times
}

// Times are when a sale opens and closes by itself. The zero time is none: it is open from its beginning,
// or never closes.
type Times struct {
	OpensAt, ClosesAt time.Time
}

// Texts returns both times as the scripts read them: Unix milliseconds, "" for no time.
func (t Times) Texts() (opensAt, closesAt string) {
	return millisecondsOf(t.OpensAt), millisecondsOf(t.ClosesAt)
}

func millisecondsOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(WholeMillisecond(t).UnixMilli(), 10)
}

// WholeMillisecond is a time as a sale keeps it: the first whole millisecond that is not before t, so that
// no sale opens early.
func WholeMillisecond(t time.Time) time.Time {
	return t.Add(time.Millisecond - 1).Truncate(time.Millisecond)
}

// next returns the moment at which the state changes by the clock, the zero time where it does not.
func (c *Current) next() time.Time {
	switch c.State {
	case StateScheduled:
		return c.OpensAt
	case StateOpen, StatePaused:
		return c.ClosesAt
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
func (s *Sale) Change(c Change) (Current, error) {
	var r stateReply
	if err := s.redis.Do(s.changeState(&r, c)); err != nil {
		return Current{}, err
	}
	return s.current(&r)
}

// stateReply is what state_change.lua returns.
type stateReply struct {
	code, now, opens, closes int64
	state                    string
}

// changeState makes the call of state_change.lua. Without By it wants no change.
func (s *Sale) changeState(r *stateReply, c Change) *pipeline.Call {
	reply := &radix.Tuple{&r.code, &r.state, &r.now, &r.opens, &r.closes}
	return stateChangeScript.Call(reply, []string{s.keys.Marker, s.keys.Gate, s.keys.Log},
		s.id, c.By, string(c.State), wantedTime(c.OpensAt), wantedTime(c.ClosesAt))
}

// wantedTime is a time of a change as state_change.lua reads it.
func wantedTime(t *time.Time) string {
	switch {
	case t == nil:
		return ""
	case t.IsZero():
		return "0"
	}
	return millisecondsOf(*t)
}

// current judges the reply.
func (s *Sale) current(r *stateReply) (Current, error) {
	now := Current{State(r.state), time.UnixMilli(r.now).UTC(), Times{timeOf(r.opens), timeOf(r.closes)}}
	switch r.code {
	case stateDone:
		return now, nil
	case stateNoSale:
		return Current{}, s.missed()
	case stateConflict:
		return now, ErrStateConflict
	case stateWrongTimes:
		return now, ErrWrongTimes
	}
	return Current{}, pipeline.UnknownCode("state_change.lua", r.code)
}

// timeOf is the time of Unix milliseconds, the zero time for 0.
func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
