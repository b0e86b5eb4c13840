package redisx

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// Redis is killed and comes back from its append-only file: the sale is in the state that its times and root
// have given it, also where a time has passed meanwhile, and each change of the state is logged once.
func TestRedisRestartedAroundTimes(t *testing.T) {
	onServers(t, func(t *testing.T, server *redistest.Server, cfg Config) {
		for _, tc := range []struct {
			name    string
			change  func(soon time.Time) Change
			pass    bool // soon is over before Redis is back
			want    State
			outcome error
			log     string
		}{
			{"before it opens", func(time.Time) Change { return scheduled(moment("coming"), moment("later")) }, false,
				StateScheduled, ErrNotOpen, "root state open scheduled"},
			{"while it opens", func(soon time.Time) Change { return scheduled(soon, moment("later")) }, true,
				StateOpen, nil, "root state open scheduled, clock state scheduled open"},
			{"while it is open", func(time.Time) Change { return closing(moment("later")) }, false,
				StateOpen, nil, ""},
			{"while it closes", closing, true, StateClosed, ErrClosed, "clock state open closed"},
			{"while it opens and closes", func(soon time.Time) Change {
				return scheduled(soon.Add(-time.Millisecond), soon)
			}, true, StateClosed, ErrClosed, ""},
			{"while it is paused", func(time.Time) Change { return Change{By: "root", State: StatePaused} }, false,
				StatePaused, ErrPaused, "root state open paused"},
		} {
			t.Run(tc.name, func(t *testing.T) {
				server.Flush(t)
				s := open(t, cfg, 5)
				testkit.Must(t, s.addToCart(2, cartName(2), 1, 1))
				soon := changeSoon(t, s, tc.change)
				server.Kill(t)
				if tc.pass {
					testkit.Until(t, "that moment", func() bool { return time.Now().After(soon) })
				}
				server.Restart(t)
				checkAfterRestart(t, cfg, s, tc.want, tc.outcome, tc.log)
			})
		}
	}, "--appendonly", "yes", "--appendfsync", "always")
}

func scheduled(opens, closes time.Time) Change {
	return Change{By: "root", State: StateScheduled, OpensAt: &opens, ClosesAt: &closes}
}

func closing(at time.Time) Change { return Change{By: "root", ClosesAt: &at} }

// changeSoon makes a change with a moment that is near, again where this machine was too slow for it.
func changeSoon(t *testing.T, s *Sale, change func(soon time.Time) Change) (soon time.Time) {
	t.Helper()
	testkit.Until(t, "change", func() bool {
		soon = time.Now().Add(100 * time.Millisecond)
		_, err := s.Change(change(soon))
		if err != nil && !errors.Is(err, ErrStateConflict) {
			t.Fatal(err)
		}
		return err == nil
	})
	return soon
}

// checkAfterRestart orders as soon as Redis answers, then looks at the state, the gate and the end of the
// log.
func checkAfterRestart(t *testing.T, cfg Config, s *Sale, want State, outcome error, log string) {
	t.Helper()
	var err error
	testkit.Until(t, "answer of Redis", func() bool {
		err = s.placeOrder(2, cartName(2), []byte("k"))
		return !errors.Is(err, ErrUnavailable)
	})
	if !errors.Is(err, outcome) {
		t.Errorf("the first order: %v, want %v", err, outcome)
	}
	testkit.Until(t, "answer on the connection for reads", func() bool { return s.Check() == nil })
	found, err := s.Snapshot()
	orders := int64(0)
	if outcome == nil {
		orders = 1
	}
	if err != nil || found.State != want || found.Orders != orders || found.Left[0] != 5-orders {
		t.Errorf("then %+v, %v; want %s, %d orders", found, err, want, orders)
	}
	checkGate(t, cfg, s, found.Current)
	changes := strings.Join(statesLogged(t, s), ", ")
	if log != "" && changes != log {
		t.Errorf("log %s, want %s", changes, log)
	}
}

// statesLogged are the changes of the state in the log. Each begins with the state in which the one before
// ended.
func statesLogged(t *testing.T, s *Sale) (list []string) {
	t.Helper()
	state := StateOpen
	for _, e := range logEntries(t, s) {
		if e.What != LogState {
			continue
		}
		if e.StateBefore != state {
			t.Errorf("the log goes from %s to %s, and the sale was %s", e.StateBefore, e.StateAfter, state)
		}
		state = e.StateAfter
		list = append(list, fmt.Sprintf("%s state %s %s", e.By, e.StateBefore, e.StateAfter))
	}
	return list
}
