package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
	"flashsale/scripts/grafana"
)

const (
	serversMax = 3 // of a stack
	// alertsDivisor makes the windows of the rules short: one minute is three scrapes.
	alertsDivisor = 20
	// A scrape takes half a second while Redis is frozen, so it may not come much more often than this.
	prometheusConfig = `global:
  scrape_interval: 1s
  evaluation_interval: 500ms
rule_files: [alerts.yml]
scrape_configs:
  - job_name: flashsale
    static_configs: [targets: [%s]]
`
)

// prometheus is the one Prometheus of all drills. It scrapes the same addresses all the time, because it
// takes up to 10 s to notice others; the servers of each drill listen there.
type prometheus struct {
	run     *launch.Process
	folder  string
	address string   // host:port
	targets []string // host:port, one for each server of a stack
}

// startPrometheus starts it with the alert rules of production, in short windows.
func startPrometheus(ctx context.Context) (*prometheus, error) {
	first, err := launch.FreePorts(1 + serversMax)
	if err != nil {
		return nil, err
	}
	p := &prometheus{address: localhost(first)}
	for i := range serversMax {
		p.targets = append(p.targets, localhost(first+1+i))
	}
	if p.folder, err = os.MkdirTemp("", "drill"); err != nil {
		return nil, fmt.Errorf("cannot make a folder for Prometheus: %w", err)
	}
	config := filepath.Join(p.folder, "prometheus.yml")
	err = errors.Join(
		os.WriteFile(config, fmt.Appendf(nil, prometheusConfig, strings.Join(p.targets, ", ")), 0o600),
		os.WriteFile(filepath.Join(p.folder, "alerts.yml"), []byte(grafana.ShortAlerts(alertsDivisor)), 0o600))
	if err == nil {
		p.run, err = launch.Program{Path: "prometheus", Log: filepath.Join(p.folder, "prometheus.log"),
			Args: []string{"--config.file", config, "--storage.tsdb.path", filepath.Join(p.folder, "data"),
				"--web.listen-address", p.address, "--log.level", "warn"}}.Start()
	}
	if err == nil {
		err = p.run.Await(ctx, "answer of Prometheus", startMax, func() bool {
			_, err := p.query(ctx, "vector(1)")
			return err == nil
		})
	}
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("cannot start Prometheus: %w", err)
	}
	return p, nil
}

func localhost(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func (p *prometheus) stop() {
	if p.run != nil {
		p.run.Kill()
	}
	os.RemoveAll(p.folder)
}

// query evaluates an expression at this moment and returns the alert name of each series that it gives.
func (p *prometheus) query(ctx context.Context, expression string) (alerts []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, "GET", "http://"+p.address+"/api/v1/query?query="+
		url.QueryEscape(expression), nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var reply struct {
		Status, Error string
		Data          struct {
			Result []struct{ Metric map[string]string }
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&reply); err != nil {
		return nil, fmt.Errorf("cannot read the answer of Prometheus: %w", err)
	}
	if reply.Status != "success" {
		return nil, fmt.Errorf("cannot ask Prometheus %s: %s", expression, reply.Error)
	}
	for _, series := range reply.Data.Result {
		alerts = append(alerts, series.Metric["alertname"])
	}
	return alerts, nil
}

// alarms are the alerts of the servers of one stack.
type alarms struct {
	prometheus *prometheus
	servers    int
	expected   string        // the alert for the fault; "" = no such alert
	since      time.Time     // when the fault began
	fired      time.Duration // from since until the alert was seen; 0 = not yet
}

const (
	alertPace = 100 * time.Millisecond
	// evaluationInterval is how often Prometheus evaluates the rules, with some room.
	evaluationInterval = 600 * time.Millisecond
	alertsMax          = time.Minute // until the servers are scraped, and until an alert fires
	clearedMax         = time.Minute // the longest short window takes a quarter of it
)

// instances is an expression that matches the servers.
func (a *alarms) instances() string { return strings.Join(a.prometheus.targets[:a.servers], "|") }

// firing is an expression for the alerts that fire now for these servers or for the whole sale: the expected
// alert, or all critical ones where no alert is expected.
func (a *alarms) firing() string {
	which := `severity="critical"`
	if a.expected != "" {
		which = fmt.Sprintf("alertname=%q", a.expected)
	}
	return fmt.Sprintf(`ALERTS{alertstate="firing",instance=~"%s|",%s}`, a.instances(), which)
}

// awaitCalm returns once the servers are scraped and no watched alert fires: the previous drill used the
// same addresses, so its alerts and the restart in between may still count.
func (a *alarms) awaitCalm(ctx context.Context) error {
	up := fmt.Sprintf(`up{instance=~%q} == 1 and timestamp(up) > %.3f`, a.instances(),
		float64(time.Now().UnixMilli())/1e3)
	if err := a.await(ctx, "scrape of the servers", alertsMax, func() (bool, error) {
		scraped, err := a.prometheus.query(ctx, up)
		return len(scraped) == a.servers, err
	}); err != nil {
		return err
	}
	background.Pause(ctx, evaluationInterval)
	return a.awaitCleared(ctx)
}

// await asks Prometheus again and again.
func (a *alarms) await(
	ctx context.Context, what string, limit time.Duration, holds func() (bool, error),
) error {
	var last error
	err := testkit.Await(ctx, what, limit, func() bool {
		done, err := holds()
		if last = err; !done {
			background.Pause(ctx, alertPace)
		}
		return done
	})
	return errors.Join(err, last)
}

// begin notes that the fault begins now.
func (a *alarms) begin() { a.since = time.Now() }

// seen are the names of the alerts that have fired since the fault began.
func (a *alarms) seen(ctx context.Context) ([]string, error) {
	return a.prometheus.query(ctx, fmt.Sprintf("count by (alertname) (count_over_time(%s[%dms]))",
		a.firing(), time.Since(a.since).Milliseconds()+1))
}

// awaitFired returns once the expected alert has fired.
func (a *alarms) awaitFired(ctx context.Context) error {
	if a.expected == "" || a.fired > 0 {
		return nil
	}
	err := a.await(ctx, "alert "+a.expected+" for the fault", alertsMax, func() (bool, error) {
		found, err := a.seen(ctx)
		return len(found) > 0, err
	})
	if err == nil {
		a.fired = time.Since(a.since)
	}
	return err
}

// awaitCleared returns once no watched alert fires any more.
func (a *alarms) awaitCleared(ctx context.Context) error {
	return a.await(ctx, "end of "+cmp.Or(a.expected, "all critical alerts"), clearedMax, func() (bool, error) {
		firing, err := a.prometheus.query(ctx, a.firing())
		return len(firing) == 0, err
	})
}

// awaitAlert waits until the alert for the fault has fired. A fault that can last waits for the alert before
// it ends.
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

// demandNoAlert demands that requests alone made no critical alert fire.
func (s *stack) demandNoAlert(ctx context.Context) {
	found, err := s.alarms.seen(ctx)
	if err != nil {
		s.breaks("%v", err)
	}
	for _, alert := range found {
		s.breaks("the alert %s fired, though nothing is broken", alert)
	}
}
