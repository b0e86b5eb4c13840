package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"flashsale/handlers/web"
)

// page is the content of page.html.
type page struct {
	*Report
	Made      string
	Verdict   string
	Text      string // the report
	PlotStyle template.CSS
	Plot      template.JS // uPlot, then page.js
}

//go:embed page.html
var pageText string

//go:embed page.js
var pageScript string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"words": strings.Fields,
	"setting": func(value any) string {
		text, _ := json.Marshal(value) // the value came as JSON
		return strings.Trim(string(text), `"`)
	},
}).Parse(pageText))

// writePage writes the report as one HTML page that needs no other file. uPlot draws the charts; the page of
// the server has a copy of it.
func (r *Report) writePage(w io.Writer, made time.Time) error {
	p := page{Report: r, Made: made.Format("2006-01-02 15:04:05 MST"), Verdict: "all checks passed"}
	if err := r.verdict(); err != nil {
		p.Verdict = err.Error()
	}
	var text strings.Builder
	if err := r.write(&text, false); err != nil {
		return err
	}
	p.Text = text.String()
	if r.Load != nil {
		site, err := web.New([]byte("[]"), web.Brand{})
		if err != nil {
			return err
		}
		p.PlotStyle = template.CSS(site.File("uplot.css").Plain.Body)
		p.Plot = template.JS(string(site.File("uplot.js").Plain.Body) + "\n" + pageScript)
	}
	if err := pageTemplate.Execute(w, p); err != nil {
		return fmt.Errorf("cannot write page: %w", err)
	}
	return nil
}
