package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// report is what a run prints, with -json as this one object.
type report struct {
	Command   string                    `json:"command"` // every setting that is not a default, as flags
	Servers   []string                  `json:"servers"` // host:port
	Readiness map[string]map[string]any `json:"readyz"`  // by server: what it told at GET /readyz, before the load
	Load      *loadReport               `json:"load"`    // null with -audit-only and -ramp
	Ramp      *rampReport               `json:"ramp,omitempty"`
	Idle      *idleReport               `json:"idle,omitempty"`
	Soak      *soakReport               `json:"soak,omitempty"`
	Audit     []check                   `json:"audit"` // one per proof; violations are 0 in all of them for a correct sale
}

// idleReport is what became of the idle connections.
type idleReport struct {
	Opened int `json:"opened"`
	Held   int `json:"held"` // still open after the load
}

// loadReport is the outcome of a load.
type loadReport struct {
	Seed            uint64        `json:"seed"`
	Concurrency     int           `json:"concurrency"`        // buyers at once
	Rate            float64       `json:"rate"`               // flows a second meant to start; 0 in the closed loop
	LateStarts      int64         `json:"late_starts"`        // of them, with no buyer free at that time
	OwnLateness     stepLatency   `json:"generator_lateness"` // of the others' starts: bench's own error
	Flows           int           `json:"flows"`              // begun
	Skipped         int           `json:"users_skipped"`      // who had an order before the load
	Placed          int           `json:"placed"`             // orders answered 200
	Refused         int           `json:"refused"`            // orders answered with a reason
	Unknown         int           `json:"unknown"`            // orders of which only the books tell
	ElapsedSeconds  float64       `json:"elapsed_seconds"`
	OrdersPerSecond float64       `json:"orders_per_second"` // mean
	BestSecond      int64         `json:"best_second"`       // orders
	ContestScore    *float64      `json:"contest_score"`     // orders/s; null when the load lasted less than three seconds
	PlacedBySecond  series        `json:"placed_by_second"`
	OrderBySecond   []stepLatency `json:"order_by_second"`            // latency of the orders answered in each second, within 6%
	CPUPerOrder     float64       `json:"generator_cpu_us_per_order"` // user and system time of bench itself
	Interrupted     bool          `json:"interrupted"`                // by a signal
	Latency         []stepLatency `json:"latency"`                    // by step, then of the whole flow
	Refusals        []eventCount  `json:"refusals"`                   // name: code of the error body, or the HTTP status
	Faults          []eventCount  `json:"transport_errors"`           // name: kind
	Settling        *settlement   `json:"settling,omitempty"`         // with -retry
	traffic
}

// settlement is what -retry did.
type settlement struct {
	Settled  int          `json:"settled"`  // orders placed or refused whose outcome was unknown at first
	Stranded int          `json:"stranded"` // flows that no try brought to their order
	Retries  []eventCount `json:"retries"`  // name: what was done
}

// flowRow is the row of whole flows, from the intended start to the order's answer.
const flowRow = "flow"

// stepLatency is the latency of one step's replies, microseconds.
type stepLatency struct {
	Step  string `json:"step"`
	Count int64  `json:"count"`
	P50   int64  `json:"p50_us"`
	P90   int64  `json:"p90_us"`
	P99   int64  `json:"p99_us"`
	P999  int64  `json:"p99.9_us"`
	Max   int64  `json:"max_us"`

	histogram *hdrhistogram.Histogram // of all values, for the picture
}

// eventCount is how often a step met something.
type eventCount struct {
	Step  string `json:"step"`
	Name  string `json:"name"`
	Count int64  `json:"count"`

	seconds series // for the picture
}

func newLoadReport(opt options, result loadResult) *loadReport {
	t := result.tally
	rep := &loadReport{
		Seed: opt.seed, Concurrency: opt.concurrency, Rate: opt.rate, LateStarts: t.queued, OwnLateness: newStepLatency("start", t.late), Flows: len(result.attempts), Interrupted: result.interrupted,
		ElapsedSeconds: result.elapsed.Seconds(), BestSecond: bestSecond(t.placed), PlacedBySecond: t.placed,
		Refusals: countEvents(t.refusals), Faults: countEvents(t.faults), traffic: t.traffic,
	}
	for _, try := range result.attempts {
		switch try.outcome {
		case placed:
			rep.Placed++
		case refused:
			rep.Refused++
		case unknown:
			rep.Unknown++
		}
	}
	if opt.retry {
		rep.Settling = newSettlement(result)
	}
	rep.OrdersPerSecond = float64(rep.Placed) / rep.ElapsedSeconds
	if rep.Placed > 0 {
		rep.CPUPerOrder = float64(result.cpu) / float64(time.Microsecond) / float64(rep.Placed)
	}
	if score, ok := contestScore(t.placed); ok {
		rep.ContestScore = &score
	}
	for s, h := range t.latency {
		rep.Latency = append(rep.Latency, newStepLatency(step(s).String(), h))
	}
	rep.Latency = append(rep.Latency, newStepLatency(flowRow, t.flow))
	for _, h := range t.orders {
		rep.OrderBySecond = append(rep.OrderBySecond, newStepLatency(stepOrder.String(), h))
	}
	return rep
}

func newSettlement(result loadResult) *settlement {
	s := &settlement{Retries: countEvents(result.tally.retries)}
	for _, try := range result.attempts {
		if try.settled {
			s.Settled++
		}
		if try.outcome == stranded {
			s.Stranded++
		}
	}
	return s
}

func newStepLatency(name string, h *hdrhistogram.Histogram) stepLatency {
	return stepLatency{Step: name, Count: h.TotalCount(), P50: h.ValueAtPercentile(50), P90: h.ValueAtPercentile(90),
		P99: h.ValueAtPercentile(99), P999: h.ValueAtPercentile(99.9), Max: h.Max(), histogram: h}
}

// countEvents lists events by step, the frequent ones first.
func countEvents(counts map[event]series) []eventCount {
	events := make([]event, 0, len(counts))
	for e := range counts {
		events = append(events, e)
	}
	slices.SortFunc(events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(counts[b].total(), counts[a].total()), cmp.Compare(a.name, b.name))
	})
	list := make([]eventCount, len(events))
	for i, e := range events {
		list[i] = eventCount{e.step.String(), e.name, counts[e].total(), counts[e]}
	}
	return list
}

// verdict is the error with which the command ends: violations, or a load that never reached an order, which proves nothing.
func (r *report) verdict() error {
	failed := 0
	for _, c := range r.Audit {
		if c.Violations > 0 {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%w: %d of %d checks found violations", errAudit, failed, len(r.Audit))
	}
	if r.Load != nil && r.Load.Placed+r.Load.Refused == 0 {
		return fmt.Errorf("%w: not one order was answered, see refusals and transport errors", errUnreachable)
	}
	if r.Ramp != nil && len(r.Ramp.Steps) == 0 {
		return fmt.Errorf("%w: no step of the ramp was made: %s", errUsage, r.Ramp.Ended)
	}
	return nil
}

// write prints the report as text or as JSON.
func (r *report) write(w io.Writer, asJSON bool) error {
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
	if r.Soak != nil {
		printer.soak(r.Soak)
	}
	printer.audit(r.Audit)
	return printer.err
}

// printer writes text and keeps the errors of writing for the end.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	_, err := fmt.Fprintf(p.w, format+"\n", args...)
	p.err = errors.Join(p.err, err)
}

func (p *printer) load(l *loadReport) {
	if l.Rate > 0 {
		p.line("load: %d flows at %.0f/s by at most %d buyers at once in %.2f s, seed %d", l.Flows, l.Rate, l.Concurrency, l.ElapsedSeconds, l.Seed)
	} else {
		p.line("load: %d flows by %d buyers at once in %.2f s, seed %d", l.Flows, l.Concurrency, l.ElapsedSeconds, l.Seed)
	}
	if l.Interrupted {
		p.line("  ended early by a signal")
	}
	if l.Skipped > 0 {
		p.line("  users skipped    %8d, who had an order before", l.Skipped)
	}
	p.line("  orders placed    %8d, refused %d, outcome unknown %d", l.Placed, l.Refused, l.Unknown)
	p.line("  orders/s mean    %8.0f", l.OrdersPerSecond)
	p.line("  best second      %8d", l.BestSecond)
	if l.ContestScore != nil {
		p.line("  contest's score  %8.0f", *l.ContestScore)
	}
	p.line("  generator CPU    %8.1f us/order", l.CPUPerOrder)
	if l.Rate > 0 {
		p.line("  late starts      %8d, no buyer was free", l.LateStarts)
		p.line("  generator late   %8.2f ms p50, %.2f p99, %.2f max", millis(l.OwnLateness.P50), millis(l.OwnLateness.P99), millis(l.OwnLateness.Max))
	}
	p.line("  connections      %8d, of these reconnects %d", l.Connections, l.Reconnects)
	p.line("  bytes            %8d sent, %d received", l.BytesSent, l.BytesReceived)
	p.line("latency, ms     count      p50      p90      p99    p99.9      max")
	for _, s := range l.Latency {
		p.line("  %-8s %10d %8.2f %8.2f %8.2f %8.2f %8.2f", s.Step, s.Count, millis(s.P50), millis(s.P90), millis(s.P99),
			millis(s.P999), millis(s.Max))
	}
	p.events("refusals", l.Refusals)
	p.events("transport errors", l.Faults)
	if s := l.Settling; s != nil {
		p.events("retries", s.Retries)
		p.line("  orders settled by them %d, flows that none brought to an order %d", s.Settled, s.Stranded)
	}
}

func millis(micros int64) float64 { return float64(micros) / 1000 }

func (p *printer) events(title string, events []eventCount) {
	if len(events) == 0 {
		p.line("%s: none", title)
		return
	}
	p.line("%s:", title)
	for _, e := range events {
		p.line("  %-8s %10d %s", e.Step, e.Count, e.Name)
	}
}

func (p *printer) audit(checks []check) {
	p.line("audit:")
	for _, c := range checks {
		verdict := "ok  "
		if c.Violations > 0 {
			verdict = "FAIL"
		}
		p.line("  %s %s (%d looked at, %d violations)", verdict, c.Name, c.Examined, c.Violations)
		for _, example := range c.Examples {
			p.line("         %s", example)
		}
	}
}
