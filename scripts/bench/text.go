package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"flashsale/scripts/bench/audit"
	"flashsale/scripts/bench/compare"
	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/payment"
)

// printer writes text and keeps the errors of writing for the end.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	_, err := fmt.Fprintf(p.w, format+"\n", args...)
	p.err = errors.Join(p.err, err)
}

func (p *printer) load(l *load.Report) {
	if l.Rate > 0 {
		p.line("load: %d flows at %.0f/s by at most %d buyers at once in %.2f s, seed %d",
			l.Flows, l.Rate, l.Concurrency, l.ElapsedSeconds, l.Seed)
	} else {
		p.line("load: %d flows by %d buyers at once in %.2f s, seed %d", l.Flows, l.Concurrency,
			l.ElapsedSeconds, l.Seed)
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
		p.line("  generator late   %8.2f ms p50, %.2f p99, %.2f max",
			load.Millis(l.OwnLateness.P50), load.Millis(l.OwnLateness.P99), load.Millis(l.OwnLateness.Max))
	}
	p.line("  connections      %8d, of these reconnects %d", l.Connections, l.Reconnects)
	p.line("  bytes            %8d sent, %d received", l.BytesSent, l.BytesReceived)
	p.line("latency, ms     count      p50      p90      p99    p99.9      max")
	for _, s := range l.Latency {
		p.line("  %-8s %10d %8.2f %8.2f %8.2f %8.2f %8.2f", s.Step, s.Count, load.Millis(s.P50),
			load.Millis(s.P90), load.Millis(s.P99),
			load.Millis(s.P999), load.Millis(s.Max))
	}
	p.events("refusals", l.Refusals)
	p.events("transport errors", l.Faults)
	if s := l.Settling; s != nil {
		p.events("retries", s.Retries)
		p.line("  orders settled by them %d, flows that none brought to an order %d", s.Settled, s.Stranded)
	}
}

func (p *printer) payments(r *payment.Report) {
	p.line("held orders: a hold of %.0f s", r.HoldSeconds)
	p.line("  given back       %8d", r.GivenBack)
	p.line("  paid             %8d, late %d; %d events taken, %d payments told twice", r.Paid, r.PaidLate,
		r.Events, r.Doubled)
	p.line("  left             %8d, failed %d", r.Left, r.Failed)
}

func (p *printer) events(title string, events []load.EventCount) {
	if len(events) == 0 {
		p.line("%s: none", title)
		return
	}
	p.line("%s:", title)
	for _, e := range events {
		p.line("  %-8s %10d %s", e.Step, e.Count, e.Name)
	}
}

func (p *printer) audit(checks []audit.Check) {
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

func (p *printer) soak(r *compare.SoakReport) {
	p.line("soak: %.0f s at %.0f flows/s; %d samples, medians of the first and the last third",
		r.Seconds, r.Rate, r.Samples)
	p.line("  %-22s %-12s %10s %10s %10s", "process", "", "first", "last", "at most")
	for _, g := range r.Growth {
		verdict := "flat"
		if g.Last > g.Limit {
			verdict = "GROWS"
		}
		p.line("  %-22s %-12s %10.1f %10.1f %10.1f  %s", g.Process, g.Measure, g.First, g.Last,
			g.Limit, verdict)
	}
}

// crowds has a line for each side with idle connections and for each with viewers.
func (p *printer) crowds(t compare.Table) {
	for _, s := range t.Sides {
		first := s.Trials[0]
		number, name := first.Idle, "idle connections"
		if first.Viewers > 0 {
			number, name = first.Viewers, "viewers"
		}
		if number == 0 {
			continue
		}
		held := number
		for _, trial := range s.Trials {
			held = min(held, trial.CrowdHeld)
		}
		p.line("  %d %s: %.1f KB of the workers with each, %d still there after the load (fewest of all runs)  %s",
			number, name, s.CrowdMemory/1024, held, s.Side)
	}
}

// incidents writes a line for each kind of refusal and transport error.
func (p *printer) incidents(where string, kinds ...[]load.EventCount) {
	for _, e := range slices.Concat(kinds...) {
		p.line("  ATTENTION: %s: %s: %d x %s", where, e.Step, e.Count, e.Name)
	}
}

func (p *printer) compareTable(t compare.Table) {
	p.line("%d buyers at once    CPU us/order                     order, ms      largest", t.Concurrency)
	p.line("  orders/s    total     app   redis  bench     p50     p99   worker MB  side")
	runs, checks, missing := 0, 0, 0
	for _, s := range t.Sides {
		p.line("  %8.0f  %7.1f %7.1f %7.1f %6.1f %7.2f %7.2f   %9.1f  %s", s.OrdersPerSecond, s.CPU.Total,
			s.CPU.App, s.CPU.Redis,
			s.CPU.Generator, s.OrderP50/1000, s.OrderP99/1000, s.WorkerMemory/(1<<20), s.Side)
		for _, trial := range s.Trials {
			missing += trial.Flows - trial.Placed
			if trial.Checks > 0 {
				runs, checks = runs+1, checks+trial.Checks
			}
		}
	}
	p.line("  CPU per order  min   max   orders/s  min   max   against %s", t.Sides[0].Side)
	for _, s := range t.Sides[1:] {
		p.line("          %5.2f %5.2f %5.2f      %5.2f %5.2f %5.2f   %s", s.CPURatio.Median, s.CPURatio.Min,
			s.CPURatio.Max,
			s.OrdersRatio.Median, s.OrdersRatio.Min, s.OrdersRatio.Max, s.Side)
	}
	for _, s := range t.Sides {
		if s.OrdersByScript > 0 {
			p.line("  %5.1f orders in each EVALSHA  %s", s.OrdersByScript, s.Side)
		}
	}
	for _, s := range t.Sides {
		for _, trial := range s.Trials {
			p.incidents(fmt.Sprintf("round %d of %s", trial.Round, s.Side), trial.Refusals, trial.Faults)
		}
	}
	if missing > 0 {
		p.line("  ATTENTION: %d flows ended without an order", missing)
	}
	if runs > 0 {
		p.line("  audit: %d runs, %d checks, no violation", runs, checks)
	} else {
		p.line("  audit: none, for no side sells for real")
	}
}
