package grafana

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"flashsale/internal/observe/figures"
	"flashsale/internal/testkit"
)

var (
	metricName = regexp.MustCompile(`\bflashsale_\w+`)
	labelNames = regexp.MustCompile(`(?:\b(?:by|without|ignoring|on) \(([\w, ]*)\))|[{,](\w+)(?:=~?|!=|!~)"`)
)

// promLabels are those that Prometheus adds itself.
var promLabels = []string{"job", "instance", "le", "alertstate"}

// unknown lists the metrics and labels of some expressions that /metrics does not have.
func unknown(expressions string) (names []string) {
	labels := slices.Clone(promLabels)
	metrics := map[string]bool{}
	for _, family := range figures.Families {
		metrics[family.Name] = true
		if family.Type == "histogram" {
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				metrics[family.Name+suffix] = true
			}
		}
		labels = append(labels, family.Labels...)
	}
	for _, name := range metricName.FindAllString(expressions, -1) {
		if !metrics[name] {
			names = append(names, name)
		}
	}
	for _, found := range labelNames.FindAllStringSubmatch(expressions, -1) {
		for label := range strings.SplitSeq(found[1]+found[2], ",") {
			if label = strings.TrimSpace(label); !slices.Contains(labels, label) {
				names = append(names, label)
			}
		}
	}
	return names
}

func TestAlertsNameWhatExists(t *testing.T) {
	if names := unknown(Alerts); len(names) > 0 {
		t.Errorf("alerts.yml names %v, which /metrics does not have", names)
	}
}

func TestUnknownFindsNames(t *testing.T) {
	const text = `sum by (job, shop) (rate(flashsale_requests_total{code="200",kind=~"x"}[1m])) / flashsale_gone
		+ flashsale_request_duration_seconds_bucket + flashsale_workers_bucket`
	want := []string{"flashsale_gone", "flashsale_workers_bucket", "shop", "kind"}
	if got := unknown(text); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

// Each alert has a test of promtool that lets it fire, and a line in the README.
func TestAlertsAreTested(t *testing.T) {
	names := AlertNames()
	text, readme := testkit.ReadFile(t, "alerts_test.yml"), testkit.ReadFile(t, "README.md")
	if rules := strings.Count(Alerts, "expr:"); len(names) != rules || rules == 0 {
		t.Fatalf("%d names of %d alerts", len(names), rules)
	}
	for _, name := range names {
		if !strings.Contains(text, "alertname: "+name+"\n        exp_alerts:") {
			t.Errorf("alerts_test.yml does not let %s fire", name)
		}
		if !strings.Contains(readme, "| "+name+" |") {
			t.Errorf("README.md does not explain %s", name)
		}
	}
}

func TestShortAlerts(t *testing.T) {
	short := ShortAlerts(20)
	for _, want := range []string{"for: 750ms", "for: 3000ms", "[6000ms]", "[3000ms]", "14 * 24 * 3600"} {
		if !strings.Contains(short, want) {
			t.Errorf("the short rules have no %q", want)
		}
	}
	_, rules, _ := strings.Cut(short, "groups:")
	if left := regexp.MustCompile(`(for: |\[)\d+[smhd]\b`).FindString(rules); left != "" {
		t.Errorf("%q is not shortened", left)
	}
}

func TestPromtool(t *testing.T) {
	promtool := testkit.Need(t, "promtool")
	short := t.TempDir() + "/alerts.yml"
	testkit.WriteFile(t, short, ShortAlerts(20))
	for _, args := range [][]string{
		{"check", "config", "prometheus.yml"}, {"check", "rules", "--lint-fatal", "alerts.yml"},
		{"check", "rules", "--lint-fatal", short}, {"test", "rules", "alerts_test.yml"},
	} {
		if output, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, output)
		}
	}
}
