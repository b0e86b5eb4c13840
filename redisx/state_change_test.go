package redisx

import (
	"errors"
	"slices"
	"testing"
)

// stateChangeTest is a call of state_change.lua: marker before, change, outcome, state, times and log after.
type stateChangeTest struct {
	name, marker                   string
	state                          State
	opens, closes                  string
	want                           error
	wantState                      State
	wantOpens, wantCloses, wantLog string
}

var changesDone = []stateChangeTest{
	{"pause", "state=open", StatePaused, "", "", nil, StatePaused, "", "", "root state open paused"},
	{"open what is paused", "state=paused paused=1", StateOpen, "", "", nil,
		StateOpen, "", "", "root state paused open"},
	{"close", "state=open", StateClosed, "", "", nil, StateClosed, "", "", "root state open closed"},
	{"close what is paused", "state=paused paused=1", StateClosed, "", "", nil,
		StateClosed, "", "", "root state paused closed"},
	{"open what was closed", "state=closed closed=past paused=1", StateOpen, "", "", nil,
		StateOpen, "", "", "root state closed open"},
	{"open what is over", "state=closed closes_at=past", StateOpen, "", "", nil, StateOpen, "", "",
		"root times {} {past}-{} {}, root state closed open"},
	{"open before its time", "state=scheduled opens_at=coming closes_at=later", StateOpen, "", "", nil,
		StateOpen, "now", "later", "root times {coming} {later}-{now} {later}, root state scheduled open"},
	{"schedule what is open", "state=open", StateScheduled, "coming", "later", nil,
		StateScheduled, "coming", "later", "root times {} {}-{coming} {later}, root state open scheduled"},
	{"schedule what is over", "state=closed closes_at=past", StateScheduled, "coming", "", nil,
		StateScheduled, "coming", "", "root times {} {past}-{coming} {}, root state closed scheduled"},
	{"the same again", "state=open", StateOpen, "", "", nil, StateOpen, "", "", ""},
	{"nothing", "state=open", "", "", "", nil, StateOpen, "", "", ""},
	{"a time to close", "state=open", "", "", "later", nil, StateOpen, "", "later",
		"root times {} {}-{} {later}"},
	{"no time to close", "state=open closes_at=later", "", "", "none", nil, StateOpen, "", "",
		"root times {} {later}-{} {}"},
	{"another time to open", "state=scheduled opens_at=coming", "", "later", "", nil,
		StateScheduled, "later", "", "root times {coming} {}-{later} {}"},
	{"close and set times", "state=open", StateClosed, "coming", "later", nil, StateClosed, "coming",
		"later", "root times {} {}-{coming} {later}, root state open closed"},
}

var changesRefused = []stateChangeTest{
	{"pause what is scheduled", "state=scheduled opens_at=coming", StatePaused, "", "", ErrStateConflict,
		StateScheduled, "coming", "", ""},
	{"pause what is closed", "state=closed closed=past", StatePaused, "", "", ErrStateConflict,
		StateClosed, "", "", ""},
	{"schedule without a time", "state=open", StateScheduled, "", "", ErrStateConflict,
		StateOpen, "", "", ""},
	{"schedule in the past", "state=open", StateScheduled, "past", "", ErrStateConflict,
		StateOpen, "", "", ""},
	{"open later", "state=open", StateOpen, "coming", "", ErrStateConflict, StateOpen, "", "", ""},
	{"open what is to be over", "state=open", StateOpen, "", "past", ErrClosesInPast,
		StateOpen, "", "", ""},
	{"a time to close that is over", "state=closed closed=past", "", "", "past", ErrClosesInPast,
		StateClosed, "", "", ""},
	{"close at a time that is over", "state=open", StateClosed, "", "past", ErrClosesInPast,
		StateOpen, "", "", ""},
	{"schedule, and close before now", "state=open", StateScheduled, "coming", "past", ErrClosesInPast,
		StateOpen, "", "", ""},
	{"times that would shut", "state=open", "", "coming", "", ErrStateConflict, StateOpen, "", "", ""},
	{"times that would open", "state=scheduled opens_at=coming", "", "none", "", ErrStateConflict,
		StateScheduled, "coming", "", ""},
	{"closes before it opens", "state=scheduled opens_at=later", "", "", "coming", ErrWrongTimes,
		StateScheduled, "later", "", ""},
	{"closes when it opens", "state=open", StateScheduled, "coming", "coming", ErrWrongTimes,
		StateOpen, "", "", ""},
}

var changesDue = []stateChangeTest{
	{"due to open", "state=scheduled opens_at=past", "", "", "", nil, StateOpen, "past", "",
		"clock state scheduled open"},
	{"due to close", "state=open closes_at=past", "", "", "", nil, StateClosed, "", "past",
		"clock state open closed"},
	{"due to close, and a later time", "state=open closes_at=past", "", "", "later", nil, StateClosed, "",
		"later", "clock state open closed, root times {} {past}-{} {later}"},
	{"due to close, and opened", "state=open closes_at=past", StateOpen, "", "later", nil, StateOpen, "",
		"later", "clock state open closed, root times {} {past}-{} {later}, root state closed open"},
	{"due, and a change", "state=scheduled opens_at=past", StatePaused, "", "", nil, StatePaused, "past",
		"", "clock state scheduled open, root state open paused"},
	{"paused before it opens", "state=paused paused=1 opens_at=past", "", "", "", nil,
		StatePaused, "past", "", ""},
}

func TestStateChangeScript(t *testing.T) {
	for _, tc := range slices.Concat(changesDone, changesRefused, changesDue) {
		t.Run(tc.name, tc.run)
	}
}

func (tc stateChangeTest) run(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		s := open(t, cfg, 5)
		raw(t, cfg, nil, "DEL", gatePrefix+s.ID(), logPrefix+s.ID())
		put(t, cfg, tc.marker)
		now, err := s.Change(Change{By: "root", State: tc.state, OpensAt: wanted(tc.opens),
			ClosesAt: wanted(tc.closes)})
		if !errors.Is(err, tc.want) || now.State != tc.wantState {
			t.Errorf("%s, %v; want %s, %v", now.State, err, tc.wantState, tc.want)
		}
		found, err := s.Snapshot()
		if err != nil || found.State != tc.wantState || nameOf(found.OpensAt) != tc.wantOpens ||
			nameOf(found.ClosesAt) != tc.wantCloses || nameOf(found.Now) != "now" {
			t.Errorf("then %+v, %v", found.Current, err)
		}
		if log := logOf(t, s); log != tc.wantLog {
			t.Errorf("log %s\nwant %s", log, tc.wantLog)
		}
		checkGate(t, cfg, s, found.Current)
	})
}
