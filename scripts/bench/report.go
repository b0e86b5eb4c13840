package main

import (
	"encoding/json"
	"fmt"
	"io"

	"flashsale/scripts/bench/audit"
	"flashsale/scripts/bench/compare"
	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/payment"
	"flashsale/scripts/bench/sale"
)

// Report is the output of a run; -json prints this one object.
type Report struct {
	Command string   `json:"command"` // every setting that is not a default, as flags
	Servers []string `json:"servers"` // host:port
	// by server: its answer at GET /readyz, before the load
	Readiness map[string]map[string]any `json:"readyz"`
	Load      *load.Report              `json:"load"` // null for an audit
	Payments  *payment.Report           `json:"payments,omitempty"`
	Soak      *compare.SoakReport       `json:"soak,omitempty"`
	// one per proof; a correct sale has no violations
	Audit []audit.Check `json:"audit"`
}

// verdict is the error of the command: violations, or a load that never reached an order, which proves
// nothing.
func (r *Report) verdict() error {
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
	return nil
}

// write prints the report as text or as JSON.
func (r *Report) write(w io.Writer, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	p := &printer{w: w}
	if r.Load != nil {
		p.load(r.Load)
	}
	if r.Payments != nil {
		p.payments(r.Payments)
	}
	if r.Soak != nil {
		p.soak(r.Soak)
	}
	p.audit(r.Audit)
	return p.err
}

// writeComparison prints a comparison as text.
func writeComparison(w io.Writer, r *compare.Report) error {
	p := &printer{w: w}
	p.line("compare: %d rounds of %d orders a side, medians, seed %d", r.Rounds, r.Orders, r.Seed)
	for _, table := range r.Tables {
		p.compareTable(table)
		p.crowds(table)
	}
	return p.err
}
