package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/scripts/grafana"
)

// Each drill has an alert of the rules, or a reason to have no alert.
func TestDrillsNameTheirAlert(t *testing.T) {
	known := grafana.AlertNames()
	for _, d := range drills {
		if (d.alert == "") == (d.quiet == "") {
			t.Errorf("%s: alert %q, reason for no alert %q; want either", d.name, d.alert, d.quiet)
		}
		if d.alert != "" && !slices.Contains(known, d.alert) {
			t.Errorf("%s: there is no alert %s", d.name, d.alert)
		}
		if d.healthy() && d.alert != "" {
			t.Errorf("%s breaks nothing but expects the alert %s", d.name, d.alert)
		}
		if d.setup.servers > serversMax {
			t.Errorf("%s has %d servers, Prometheus looks at %d", d.name, d.setup.servers, serversMax)
		}
	}
}

// A real Prometheus sees each alert fire and clear.
func TestEachAlertHasADrill(t *testing.T) {
	made := slices.Clone(saleAlerts)
	for _, fault := range roomFaults {
		made = append(made, fault.alerts...)
	}
	for _, d := range drills {
		made = append(made, d.alert)
	}
	for _, alert := range grafana.AlertNames() {
		if !slices.Contains(made, alert) {
			t.Errorf("no drill has the alert %s fire", alert)
		}
	}
}

// metricsOf serves the metrics of a server that is up, with the redis_up of this moment.
func metricsOf(t *testing.T, address string, redisUp *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	testkit.Must(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "flashsale_redis_up %d\n", redisUp.Load())
	})}
	go func() { _ = server.Serve(l) }() // until Close
	t.Cleanup(func() { server.Close() })
}

// A real Prometheus evaluates the rules: an alert that never fires and one that never clears are broken
// promises.
func TestAlarms(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "prometheus")
	p, err := startPrometheus(t.Context())
	testkit.Must(t, err)
	t.Cleanup(p.stop)
	var redisUp atomic.Int64
	redisUp.Store(1)
	metricsOf(t, p.targets[0], &redisUp)
	s := &stack{alarms: &alarms{prometheus: p, servers: 1, expected: "RedisAway"}}
	testkit.Must(t, s.alarms.awaitCalm(t.Context()))
	s.alarms.begin()

	redisUp.Store(0)
	s.awaitAlert(t.Context())
	s.alarms.expected = ""
	if s.demandNoAlert(t.Context()); !slices.Equal(s.broken,
		[]string{"the alert RedisAway fired, though nothing is broken"}) {
		t.Errorf("an alert without a fault: %q", s.broken)
	}
	s.alarms.expected, s.broken = "RedisAway", nil
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if s.awaitNoAlert(ended); len(s.broken) != 1 || !strings.Contains(s.broken[0], "context canceled") {
		t.Errorf("an alert that goes on firing: %q", s.broken)
	}
	redisUp.Store(1)
	s.broken, s.notes = nil, nil
	if s.awaitNoAlert(t.Context()); len(s.broken) > 0 || len(s.notes) != 1 ||
		!strings.Contains(s.notes[0], "alert RedisAway was seen after") {
		t.Errorf("broken %q, notes %q", s.broken, s.notes)
	}

	s.alarms = &alarms{prometheus: p, servers: 1, expected: "RedisSlow"}
	s.alarms.begin()
	if s.awaitAlert(ended); len(s.broken) != 1 || !strings.Contains(s.broken[0], "context canceled") {
		t.Errorf("an alert that does not fire: %q", s.broken)
	}
	if _, err := p.query(t.Context(), "1 +"); err == nil || !strings.Contains(err.Error(), "parse error") {
		t.Errorf("a bad expression: %v", err)
	}
}

// After stop it has ended.
func TestPrometheusEnds(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "prometheus")
	p, err := startPrometheus(t.Context())
	testkit.Must(t, err)
	p.stop()
	testkit.Until(t, "end of Prometheus", func() bool { return !p.run.Running() })
	if _, err := p.query(t.Context(), "vector(1)"); err == nil {
		t.Error("an answer of a Prometheus that has ended")
	}
}
