package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"time"

	"flashsale/handlers/web"
	"flashsale/scripts/bench/load"
)

// page is the content of page.html.
type page struct {
	*Report
	Made      string
	Verdict   string
	Charts    []chart
	PlotStyle template.CSS
	Plot      template.JS // uPlot, then page.js
}

//go:embed page.html
var pageText string

//go:embed page.js
var pageScript string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"millis":  func(micros int64) string { return grouped(fmt.Sprintf("%.2f", load.Millis(micros))) },
	"round":   func(v float64) string { return grouped(fmt.Sprintf("%.0f", v)) },
	"tenth":   func(v float64) string { return grouped(fmt.Sprintf("%.1f", v)) },
	"count":   func(n any) string { return grouped(fmt.Sprint(n)) },
	"setting": setting,
	"words":   strings.Fields,
}).Parse(pageText))

// setting is a value of GET /readyz as a person reads it.
func setting(value any) string {
	switch value := value.(type) {
	case float64:
		return grouped(strconv.FormatFloat(value, 'f', -1, 64))
	case string:
		return value
	}
	text, _ := json.Marshal(value) // the value came as JSON
	return string(text)
}

// grouped puts commas between the thousands of a decimal number that is not negative.
func grouped(number string) string {
	whole, rest, fraction := strings.Cut(number, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction {
		whole += "." + rest
	}
	return whole
}

// writePage writes the report as one HTML page that needs no other file. uPlot draws the charts; the page of
// the server has a copy of it.
func (r *Report) writePage(w io.Writer, made time.Time) error {
	p := page{Report: r, Made: made.Format("2006-01-02 15:04:05 MST"), Verdict: "all checks passed"}
	if err := r.verdict(); err != nil {
		p.Verdict = err.Error()
	}
	if r.Load != nil {
		site, err := web.New()
		if err != nil {
			return err
		}
		p.Charts = charts(r.Load)
		p.PlotStyle = template.CSS(site.File("uplot.css").Plain.Body)
		p.Plot = template.JS(string(site.File("uplot.js").Plain.Body) + "\n" + pageScript)
	}
	if err := pageTemplate.Execute(w, p); err != nil {
		return fmt.Errorf("cannot write page: %w", err)
	}
	return nil
}
