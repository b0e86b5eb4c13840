package main

import (
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
