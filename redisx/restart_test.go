package redisx

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// Redis is killed and comes back from its append-only file: the sale is in the state that its times and root
// have given it, also where a time has passed meanwhile, and that change of the state is logged.
func TestRedisRestartedAroundTimes(t *testing.T) {
	later := moment("later")
	onServers(t, func(t *testing.T, server *redistest.Server, cfg Config) {
		for _, tc := range []struct {
			name    string
			change  func(soon time.Time) Change // soon is over before Redis is back
			want    State
			outcome error
			log     string
		}{
			{"while it opens", func(soon time.Time) Change {
				return Change{State: StateScheduled, OpensAt: &soon, ClosesAt: &later}
			}, StateOpen, nil, "clock: scheduled to open"},
			{"while it closes", func(soon time.Time) Change { return Change{ClosesAt: &soon} },
				StateClosed, ErrClosed, "clock: open to closed"},
			{"while it is paused", func(time.Time) Change { return Change{State: StatePaused} },
				StatePaused, ErrPaused, "root: open to paused"},
		} {
			t.Run(tc.name, func(t *testing.T) {
				server.Flush(t)
				s := open(t, cfg, 5)
				testkit.Must(t, s.addToCart(2, cartName(2), 1, 1))
				var soon time.Time
				testkit.Until(t, "a change in time", func() bool { // not on a machine that is too slow for it
					soon = time.Now().Add(100 * time.Millisecond)
					change := tc.change(soon)
					change.By = "root"
					_, err := s.Change(change)
					return err == nil
				})
				server.Kill(t)
				testkit.Until(t, "that moment", func() bool { return time.Now().After(soon) })
				server.Restart(t)
				var err error
				testkit.Until(t, "an answer of Redis", func() bool {
					err = s.placeOrder(2, cartName(2), []byte("k"))
					return !errors.Is(err, ErrUnavailable) && s.Check() == nil
				})
				testkit.Wants(t, "the first order", err, tc.outcome)
				found, err := s.Snapshot()
				if err != nil || found.State != tc.want || found.Orders+found.Left[0] != 5 {
					t.Errorf("then %+v, %v; want %s", found, err, tc.want)
				}
				checkGate(t, cfg, s, found.Current)
				log := logEntries(t, s)
				last := log[len(log)-1]
				if text := fmt.Sprintf("%s: %s to %s", last.By, last.StateBefore, last.StateAfter); text != tc.log {
					t.Errorf("the log ends with %s, want %s", text, tc.log)
				}
			})
		}
	}, "--appendonly", "yes", "--appendfsync", "always")
}
