package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"time"

	"flashsale/scripts/bench/load"
)

// page is what page.html shows.
type page struct {
	*Report
	Made    string
	Verdict string
	Charts  []chart
}

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"millis":  func(micros int64) string { return grouped(fmt.Sprintf("%.2f", load.Millis(micros))) },
	"round":   func(v float64) string { return grouped(fmt.Sprintf("%.0f", v)) },
	"tenth":   func(v float64) string { return grouped(fmt.Sprintf("%.1f", v)) },
	"count":   func(n any) string { return grouped(fmt.Sprint(n)) },
	"setting": setting,
	"words":   strings.Fields,
	"plot":    func() map[string]float64 { return plotFrame },
	"latency": func(rows []load.StepLatency, i int) load.StepLatency { return rows[i] },
}).Parse(pageText))

// setting is a value of GET /readyz as a person reads it.
func setting(value any) string {
	switch value := value.(type) {
	case float64:
		return grouped(strconv.FormatFloat(value, 'f', -1, 64))
	case string:
		return value
	}
	text, _ := json.Marshal(value) // what came as JSON goes as JSON
	return string(text)
}

// plotFrame is what the template needs to know of the geometry.
var plotFrame = map[string]float64{"width": chartWidth, "height": chartHeight, "left": plotLeft,
	"right": plotRight,
	"top":   plotTop, "bottom": plotBottom, "xLabels": plotBottom + 18, "yLabels": plotLeft - 8,
	"xTitle": chartHeight - 6, "middle": (plotLeft + plotRight) / 2}

// WritePage writes the report as one HTML page that needs nothing else.
func (r *Report) WritePage(w io.Writer, made time.Time) error {
	p := page{Report: r, Made: made.Format("2006-01-02 15:04:05 MST"), Verdict: "all checks passed"}
	if err := r.Verdict(); err != nil {
		p.Verdict = err.Error()
	}
	if r.Load != nil {
		p.Charts = []chart{placedChart(r.Load), orderChart(r.Load), latencyChart(r.Load.Latency)}
		if len(r.Load.Refusals)+len(r.Load.Faults) > 0 {
			p.Charts = append(p.Charts, refusalChart(r.Load))
		}
	}
	if r.Ramp != nil {
		p.Charts = rampCharts(r.Ramp)
	}
	if err := pageTemplate.Execute(w, p); err != nil {
		return fmt.Errorf("cannot write page: %w", err)
	}
	return nil
}
