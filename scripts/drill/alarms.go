package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"flashsale/internal/polltest"
)

// alarms are the alerts of the servers of one stack.
type alarms struct {
	prometheus *prometheus
	servers    int
	expected   string        // the alert that is meant for the fault, "" for none
	since      time.Time     // when the fault began
	fired      time.Duration // from then until the alert was seen; 0 for not yet
}

const (
	alertPace  = 100 * time.Millisecond
	alertsMax  = 15 * time.Second // until the servers are scraped, and until an alert fires
	clearedMax = 20 * time.Second // the longest short window and some scrapes
)

// matchers choose the firing alerts of these servers, and those of the whole sale, which name no server.
func (a *alarms) matchers(more string) string {
	instances := strings.Join(a.prometheus.targets[:a.servers], "|")
	return `ALERTS{alertstate="firing",instance=~"` + instances + `|"` + more + `}`
}

func (a *alarms) isExpected() string { return fmt.Sprintf(`,alertname=%q`, a.expected) }

// awaitCalm returns once all servers are scraped and the expected alert, which may still stand for the drill
// before this one, does not fire.
func (a *alarms) awaitCalm(ctx context.Context) error {
	up := fmt.Sprintf(`up{instance=~%q} == 1`, strings.Join(a.prometheus.targets[:a.servers], "|"))
	return a.await(ctx, "scrape of the servers without a firing "+a.expected, clearedMax, func() (bool, error) {
		scraped, err := a.prometheus.query(ctx, up)
		if err != nil || len(scraped) < a.servers {
			return false, err
		}
		firing, err := a.prometheus.query(ctx, a.matchers(a.isExpected()))
		return len(firing) == 0, err
	})
}

// await asks Prometheus again and again.
func (a *alarms) await(
	ctx context.Context, what string, limit time.Duration, holds func() (bool, error),
) error {
	var last error
	err := polltest.Await(ctx, what, limit, func() bool {
		done, err := holds()
		if last = err; !done {
			pause(ctx, alertPace)
		}
		return done
	})
	return errors.Join(err, last)
}

// begin notes that the fault begins now.
func (a *alarms) begin() { a.since = time.Now() }

// seen are the names of the alerts that have fired since the fault began.
func (a *alarms) seen(ctx context.Context, more string) ([]string, error) {
	return a.prometheus.query(ctx, fmt.Sprintf("count by (alertname) (count_over_time(%s[%dms]))",
		a.matchers(more), time.Since(a.since).Milliseconds()+1))
}

// awaitFired returns once the expected alert has fired.
func (a *alarms) awaitFired(ctx context.Context) error {
	if a.expected == "" || a.fired > 0 {
		return nil
	}
	err := a.await(ctx, "alert "+a.expected+" for the fault", alertsMax, func() (bool, error) {
		found, err := a.seen(ctx, a.isExpected())
		return len(found) > 0, err
	})
	if err == nil {
		a.fired = time.Since(a.since)
	}
	return err
}

// awaitCleared returns once the expected alert does not fire any more.
func (a *alarms) awaitCleared(ctx context.Context) error {
	return a.await(ctx, "end of the alert "+a.expected, clearedMax, func() (bool, error) {
		firing, err := a.prometheus.query(ctx, a.matchers(a.isExpected()))
		return len(firing) == 0, err
	})
}

// awaitAlert waits until the alert that is meant for the fault has fired. A fault that can last waits for it
// before it ends.
func (s *stack) awaitAlert(ctx context.Context) {
	if err := s.alarms.awaitFired(ctx); err != nil {
		s.breaks("%v", err)
	}
}

// awaitNoAlert waits until the alert has cleared, after the fault.
func (s *stack) awaitNoAlert(ctx context.Context) {
	if s.alarms.fired == 0 {
		return
	}
	if err := s.alarms.awaitCleared(ctx); err != nil {
		s.breaks("%v", err)
	}
	s.note("from the fault's beginning: alert %s was seen after %s, its end after %s", s.alarms.expected,
		seconds(s.alarms.fired), seconds(time.Since(s.alarms.since)))
}

// demandNoAlert demands that requests alone made no alert fire that wakes somebody up.
func (s *stack) demandNoAlert(ctx context.Context) {
	found, err := s.alarms.seen(ctx, `,severity="critical"`)
	if err != nil {
		s.breaks("%v", err)
	}
	for _, alert := range found {
		s.breaks("the alert %s fired, though nothing is broken", alert)
	}
}
