package main

import (
	"encoding/json"
	"io"
)

// compareReport is what a comparison prints, with -json as this one object.
type compareReport struct {
	Seed   uint64         `json:"seed"`
	Rounds int            `json:"rounds"`
	Orders int            `json:"orders"` // of each run, beside the warm-up
	Idle   int            `json:"idle"`   // connections open and silent in each run
	Tables []compareTable `json:"tables"` // one per -concurrency
}

// compareTable holds the sides against each other; the first is the base.
type compareTable struct {
	Concurrency int           `json:"concurrency"` // buyers at once
	Sides       []sideFigures `json:"sides"`
}

// sideFigures are medians over the rounds, and ratios to the base by round.
type sideFigures struct {
	Side            string   `json:"side"`
	OrdersPerSecond float64  `json:"orders_per_second"`
	CPU             orderCPU `json:"cpu_us_per_order"`
	WorkerMemory    float64  `json:"worker_rss_bytes"` // of the largest worker, after the load
	OrderP50        float64  `json:"order_p50_us"`
	OrderP99        float64  `json:"order_p99_us"`
	IdleMemory      float64  `json:"idle_memory_bytes"` // of the workers, with each idle connection
	CPURatio        spread   `json:"cpu_ratio"`         // of CPU per order
	OrdersRatio     spread   `json:"orders_ratio"`      // of orders/s
	Trials          []trial  `json:"trials"`
}

func newCompareTable(concurrency int, sides []side, trials [][]trial) compareTable {
	table := compareTable{Concurrency: concurrency}
	for i, s := range sides {
		of, base := trials[i], trials[0]
		ordersPerSecond := func(t trial) float64 { return t.OrdersPerSecond }
		cpu := func(t trial) float64 { return t.CPU.Total }
		table.Sides = append(table.Sides, sideFigures{
			Side: s.text, OrdersPerSecond: median(of, ordersPerSecond),
			CPU: orderCPU{
				Total: median(of, cpu), App: median(of, func(t trial) float64 { return t.CPU.App }),
				Redis:     median(of, func(t trial) float64 { return t.CPU.Redis }),
				Generator: median(of, func(t trial) float64 { return t.CPU.Generator }),
			},
			WorkerMemory: median(of, func(t trial) float64 { return float64(t.WorkerMemory) }),
			OrderP50:     median(of, func(t trial) float64 { return float64(t.OrderP50) }),
			OrderP99:     median(of, func(t trial) float64 { return float64(t.OrderP99) }),
			IdleMemory:   median(of, func(t trial) float64 { return t.IdleMemory }),
			CPURatio:     ratio(of, base, cpu), OrdersRatio: ratio(of, base, ordersPerSecond), Trials: of,
		})
	}
	return table
}

// write prints the report as text or as JSON.
func (r *compareReport) write(w io.Writer, asJSON bool) error {
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
	}
	return p.err
}

func (p *printer) idleTable(opened int, t compareTable) {
	p.line("  %d idle connections: KB of the workers with each, still open after the load (fewest of all runs)", opened)
	for _, s := range t.Sides {
		held := opened
		for _, trial := range s.Trials {
			held = min(held, trial.IdleHeld)
		}
		p.line("  %8.1f  %7d  %s", s.IdleMemory/1024, held, s.Side)
	}
}

func (p *printer) compareTable(t compareTable) {
	p.line("%d buyers at once    CPU us/order                     order, ms      largest", t.Concurrency)
	p.line("  orders/s    total     app   redis  bench     p50     p99   worker MB  side")
	runs, checks, missing := 0, 0, 0
	for _, s := range t.Sides {
		p.line("  %8.0f  %7.1f %7.1f %7.1f %6.1f %7.2f %7.2f   %9.1f  %s", s.OrdersPerSecond, s.CPU.Total, s.CPU.App, s.CPU.Redis,
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
		p.line("          %5.2f %5.2f %5.2f      %5.2f %5.2f %5.2f   %s", s.CPURatio.Median, s.CPURatio.Min, s.CPURatio.Max,
			s.OrdersRatio.Median, s.OrdersRatio.Min, s.OrdersRatio.Max, s.Side)
	}
	if missing > 0 {
		p.line("  ATTENTION: %d flows ended without an order; -json says in which runs", missing)
	}
	if runs > 0 {
		p.line("  audit: %d runs, %d checks, no violation", runs, checks)
	} else {
		p.line("  audit: none, for no side sells for real or is known here")
	}
}
