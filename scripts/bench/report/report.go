// Package report shows what a run found: as text, as JSON, as one HTML page with pictures.
package report

import (
	"encoding/json"
	"fmt"
	"io"

	"flashsale/scripts/bench/audit"
	"flashsale/scripts/bench/compare"
	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/sale"
	"flashsale/scripts/bench/soak"
)

// Report is what a run prints, with -json as this one object.
type Report struct {
	Command string   `json:"command"` // every setting that is not a default, as flags
	Servers []string `json:"servers"` // host:port
	// by server: its answer at GET /readyz, before the load
	Readiness map[string]map[string]any `json:"readyz"`
	Load      *load.Report              `json:"load"` // null for audit and ramp
	Ramp      *load.RampReport          `json:"ramp,omitempty"`
	Idle      *load.IdleReport          `json:"idle,omitempty"`
	Viewers   *load.IdleReport          `json:"viewers,omitempty"`
	Soak      *soak.Report              `json:"soak,omitempty"`
	// one per proof; violations are 0 in all of them for a correct sale
	Audit []audit.Check `json:"audit"`
}

// Verdict is the error with which the command ends: violations, or a load that never reached an order, which
// proves nothing.
func (r *Report) Verdict() error {
	failed := 0
	for _, c := range r.Audit {
		if c.Violations > 0 {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%w: %d of %d checks found violations", audit.ErrFailed, failed, len(r.Audit))
	}
	if r.Load != nil && r.Load.Placed+r.Load.Refused == 0 {
		return fmt.Errorf("%w: not one order was answered, see refusals and transport errors",
			sale.ErrUnreachable)
	}
	if r.Ramp != nil && len(r.Ramp.Steps) == 0 {
		return fmt.Errorf("%w: no step of the ramp was made: %s", sale.ErrUsage, r.Ramp.Ended)
	}
	return nil
}

// Write prints the report as text or as JSON.
func (r *Report) Write(w io.Writer, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	printer := &printer{w: w}
	if r.Load != nil {
		printer.load(r.Load)
	}
	if r.Ramp != nil {
		printer.ramp(r.Ramp)
	}
	if r.Idle != nil {
		printer.line("idle connections: %d, %d still open after the load", r.Idle.Opened, r.Idle.Held)
	}
	if r.Viewers != nil {
		printer.line("viewers: %d, %d still there after the load", r.Viewers.Opened, r.Viewers.Held)
	}
	if r.Soak != nil {
		printer.soak(r.Soak)
	}
	printer.audit(r.Audit)
	return printer.err
}

// WriteComparison prints a comparison as text or as JSON.
func WriteComparison(w io.Writer, r *compare.Report, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false) // names of sides are for people
		return encoder.Encode(r)
	}
	p := &printer{w: w}
	p.line("compare: %d rounds of %d orders a side, medians, seed %d", r.Rounds, r.Orders, r.Seed)
	for _, table := range r.Tables {
		p.compareTable(table)
		if r.Idle > 0 {
			p.idleTable(r.Idle, table)
		}
		p.viewersTable(table)
	}
	return p.err
}
