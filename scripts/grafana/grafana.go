// Package grafana holds alert rules for Prometheus and a dashboard for Grafana.
// The fault drills take the rules from here.
package grafana

import (
	_ "embed"
	"fmt"
	"regexp"
	"time"
)

// Alerts are the alert rules, a rule file of Prometheus.
//
//go:embed alerts.yml
var Alerts string

// Dashboard is the dashboard, as Grafana imports it.
//
//go:embed dashboard.json
var Dashboard string

var (
	alertName = regexp.MustCompile(`(?m)^ *- alert: (\w+)$`)
	window    = regexp.MustCompile(`(for: |\[)(\d+[smh])\b`)
)

// AlertNames are the names of all alerts, in the order of the file.
func AlertNames() (names []string) {
	for _, found := range alertName.FindAllStringSubmatch(Alerts, -1) {
		names = append(names, found[1])
	}
	return names
}

// ShortAlerts are the same rules with all windows divided by a number, for tests.
func ShortAlerts(divisor int) string {
	return window.ReplaceAllStringFunc(Alerts, func(text string) string {
		parts := window.FindStringSubmatch(text)
		lasting, _ := time.ParseDuration(parts[2]) // the expression takes no other text
		return fmt.Sprintf("%s%dms", parts[1], lasting.Milliseconds()/int64(divisor))
	})
}
