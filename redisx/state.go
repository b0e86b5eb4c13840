package redisx

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

// State is the state of a sale. It follows from the sale's times, from root's changes, and from the clock of
// Redis.
type State string

// The states. Carts can be filled in any state, but orders need StateOpen.
const (
	StateScheduled State = "scheduled" // it opens by itself
	StateOpen      State = "open"
	StatePaused    State = "paused" // until root opens it again
	StateClosed    State = "closed" // at its time or by root; root can open it again
)

// States are all states.
var States = []State{StateScheduled, StateOpen, StatePaused, StateClosed}

// Outcomes of a change of the state.
var (
	ErrStateConflict = errors.New("the state of the sale does not permit that")
	ErrWrongTimes    = errors.New("the sale would close before it opens")
	ErrClosesInPast  = errors.New("the sale cannot close at a time that is over")
)

// What state_change.lua returns.
const (
	stateDone       = 0
	stateNoSale     = 1
	stateConflict   = 2
	stateWrongTimes = 3
	stateOver       = 4
)

// Current is the state of a sale at a moment of the clock of Redis, to the millisecond.
type Current struct {
	State State
	Now   time.Time
	Times
}

// Times are when a sale opens and closes by itself. The zero time means open from the beginning, or never
// closed.
type Times struct {
	OpensAt, ClosesAt time.Time
}

// Texts returns both times for the scripts: Unix milliseconds, "" for no time.
func (t Times) Texts() (opensAt, closesAt string) {
	return millisecondsOf(t.OpensAt), millisecondsOf(t.ClosesAt)
}

func millisecondsOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(WholeMillisecond(t).UnixMilli(), 10)
}

// WholeMillisecond rounds a time up to whole milliseconds, as a sale keeps it, so that no sale opens early.
func WholeMillisecond(t time.Time) time.Time {
	return t.Add(time.Millisecond - 1).Truncate(time.Millisecond)
}

// next returns the time of the next change of the state by the clock, the zero time for none.
func (c *Current) next() time.Time {
	switch c.State {
	case StateScheduled:
		return c.OpensAt
	case StateOpen, StatePaused:
		return c.ClosesAt
	}
	return time.Time{}
}

// Change describes a change of a sale. What it leaves out stays as it is.
type Change struct {
	By       string     // who: "root", "terminal"; it stands in the log
	State    State      // "" leaves it, and the times must not change it
	OpensAt  *time.Time // nil leaves it, the zero time removes it
	ClosesAt *time.Time
}

// schedules reports whether the clocks of all slices will decide when the state changes.
func (c *Change) schedules() bool {
	times := Times{}
	if c.OpensAt != nil {
		times.OpensAt = *c.OpensAt
	}
	if c.ClosesAt != nil {
		times.ClosesAt = *c.ClosesAt
	}
	return c.State == StateScheduled || times.toCome()
}

// Change changes the state or the times of the sale and returns the result. Opening a sale ends a pause or a
// close, moves a later opening time to now, and removes a closing time that is over. Scheduling does the
// same but needs an opening time in the future. Errors: ErrStateConflict, ErrWrongTimes, ErrClosesInPast,
// ErrClocksDiffer, ErrSaleGone (nothing is changed), ErrUnavailable (unknown).
//
// The home slice decides. Its change counts once it has it, and the other slices follow. If one of them does
// not answer, the error is ErrUnavailable, and every server's Snapshots complete the change.
func (s *Sale) Change(c Change) (Current, error) {
	if c.schedules() {
		if err := s.reach.checkClocks(s.clocks); err != nil {
			return Current{}, err
		}
	}
	var r stateReply
	home := s.home()
	if err := home.redis.Do(home.changeState(&r, c)); err != nil {
		return Current{}, err
	}
	now, err := home.current(&r)
	if err != nil || len(s.slices) == 1 {
		return now, err
	}
	if err := s.reach.follow(); err != nil {
		return now, fmt.Errorf("the sale has changed, but not all its slices follow yet; running servers "+
			"complete that: %w", err)
	}
	return now, nil
}

// stateReply is the reply of state_change.lua.
type stateReply struct {
	code, now, opens, closes int64
	state                    string
}

// changeState makes the call of state_change.lua. Without By there is no change.
func (x *slice) changeState(r *stateReply, c Change) *pipeline.Call {
	reply := &radix.Tuple{&r.code, &r.state, &r.now, &r.opens, &r.closes}
	return stateChangeScript.Call(reply, []string{x.keys.Marker, x.keys.Gate, x.keys.Log},
		x.sale.id, c.By, string(c.State), wantedTime(c.OpensAt), wantedTime(c.ClosesAt))
}

// wantedTime writes a time of a change for state_change.lua.
func wantedTime(t *time.Time) string {
	switch {
	case t == nil:
		return ""
	case t.IsZero():
		return "0"
	}
	return millisecondsOf(*t)
}

// current reads the reply.
func (x *slice) current(r *stateReply) (Current, error) {
	now := Current{State(r.state), time.UnixMilli(r.now).UTC(), Times{timeOf(r.opens), timeOf(r.closes)}}
	switch r.code {
	case stateDone:
		return now, nil
	case stateNoSale:
		return Current{}, x.missed()
	case stateConflict:
		return now, ErrStateConflict
	case stateWrongTimes:
		return now, ErrWrongTimes
	case stateOver:
		return now, ErrClosesInPast
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
