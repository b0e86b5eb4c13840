package grafana

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"flashsale/internal/observe/figures"
	"flashsale/internal/testkit"
)

// dashboard is the part of a dashboard that the tests look at.
type dashboard struct {
	Title, UID    string
	SchemaVersion int
	Panels        []panel
	Templating    struct {
		List []struct{ Name, Type string }
	}
}

type panel struct {
	ID          int
	Type, Title string
	Datasource  struct{ UID string }
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct{ Expr string }
}

func TestDashboard(t *testing.T) {
	var d dashboard
	testkit.Must(t, json.Unmarshal([]byte(Dashboard), &d))
	var rows []string
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("panel %q has the id %d of another", p.Title, p.ID)
		}
		ids[p.ID] = true
		if p.GridPos.X+p.GridPos.W > 24 || p.GridPos.W <= 0 || p.GridPos.H <= 0 {
			t.Errorf("panel %q does not fit: %+v", p.Title, p.GridPos)
		}
		if p.Type == "row" {
			rows = append(rows, p.Title)
			continue
		}
		if p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
			t.Errorf("panel %q has the datasource %q and %d queries", p.Title, p.Datasource.UID, len(p.Targets))
		}
		for _, target := range p.Targets {
			if names := unknown(target.Expr); len(names) > 0 || target.Expr == "" {
				t.Errorf("panel %q asks %q: /metrics does not have %v", p.Title, target.Expr, names)
			}
		}
	}
	for _, family := range figures.Families {
		if !strings.Contains(Dashboard, family.Name) {
			t.Errorf("no panel shows %s", family.Name)
		}
	}
	want := []string{"Sale", "Requests", "Redis", "Servers", "Rooms", "Conversation", "Payments"}
	if !slices.Equal(rows, want) {
		t.Errorf("rows %v, want %v", rows, want)
	}
	if d.Title == "" || d.UID == "" || d.SchemaVersion < 38 || d.Templating.List[0].Type != "datasource" {
		t.Errorf("title %q, uid %q, schema %d, variables %v", d.Title, d.UID, d.SchemaVersion, d.Templating.List)
	}
}

// The queries of the dashboard are PromQL: promtool takes each as a rule.
func TestDashboardQueries(t *testing.T) {
	promtool := testkit.Need(t, "promtool")
	var d dashboard
	testkit.Must(t, json.Unmarshal([]byte(Dashboard), &d))
	var rules strings.Builder
	rules.WriteString("groups:\n  - name: dashboard\n    rules:\n")
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			expr, err := json.Marshal(strings.NewReplacer("$__rate_interval", "1m").Replace(target.Expr))
			testkit.Must(t, err)
			rules.WriteString("      - record: x\n        expr: " + string(expr) + "\n")
		}
	}
	file := t.TempDir() + "/rules.yml"
	testkit.WriteFile(t, file, rules.String())
	cmd := exec.CommandContext(t.Context(), promtool, "check", "rules", file)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, output)
	}
}
