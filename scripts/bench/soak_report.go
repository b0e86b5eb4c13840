package main

import (
	"cmp"
	"fmt"
	"slices"
)

// What is left out of the comparison, and by how much the last third may pass the first one.
const (
	soakSettling   = 0.1 // of the samples: connections open, heaps and pools find their size
	soakOrderBytes = 256 // of the store's memory, for each order that came between: it is kept for ever, and takes 92 here
)

// tolerances are what is allowed: first x factor + slack.
var tolerances = map[measure]struct{ factor, slack float64 }{
	memory:     {1.10, 4},
	threads:    {1, 4},
	files:      {1, 16},
	goroutines: {1.05, 16},
}

// soakReport tells whether the processes of a server grew in a long load.
type soakReport struct {
	Seconds float64  `json:"seconds"`
	Rate    float64  `json:"rate"`           // flows a second
	Peak    float64  `json:"peak,omitempty"` // orders a second of the closed loop before
	Samples int      `json:"samples"`
	Growth  []growth `json:"growth"`
	Missing []string `json:"missing,omitempty"` // gauges that are not in every sample: a process that ended or came
}

// growth is one figure of one process.
type growth struct {
	Process string  `json:"process"`
	Measure measure `json:"measure"`
	First   float64 `json:"first_third"` // median
	Last    float64 `json:"last_third"`  // median
	Limit   float64 `json:"limit"`       // of the last third
}

// newSoakReport compares the thirds of the samples, in whose time so many orders were placed.
func newSoakReport(samples []sample, placed int) (*soakReport, error) {
	rep := &soakReport{Samples: len(samples)}
	seen := map[gauge]int{}
	for _, s := range samples {
		for g := range s {
			seen[g]++
		}
	}
	settled := samples[int(soakSettling*float64(len(samples))):]
	third := len(settled) / 3
	if third == 0 {
		return nil, fmt.Errorf("%w: %d samples are too few to tell growth from chance; let -soak be longer", errUsage, len(samples))
	}
	for g, n := range seen {
		if n < len(samples) {
			rep.Missing = append(rep.Missing, fmt.Sprintf("%s: %s in %d of %d samples", g.process, g.measure, n, len(samples)))
			continue
		}
		first, last := g.median(settled[:third]), g.median(settled[len(settled)-third:])
		rep.Growth = append(rep.Growth, growth{g.process, g.measure, first, last, g.limit(first, placed)})
	}
	slices.Sort(rep.Missing)
	slices.SortFunc(rep.Growth, func(a, b growth) int {
		return cmp.Or(cmp.Compare(a.Measure, b.Measure), cmp.Compare(a.Process, b.Process))
	})
	return rep, nil
}

func (g gauge) median(samples []sample) float64 {
	numbers := make([]float64, len(samples))
	for i, s := range samples {
		numbers[i] = s[g]
	}
	return newSpread(numbers).Median
}

// limit is what the last third may show. Between the middles of the thirds two thirds of the orders come.
func (g gauge) limit(first float64, placed int) float64 {
	limit := first*tolerances[g.measure].factor + tolerances[g.measure].slack
	if g.store && g.measure == memory {
		limit += float64(placed) * 2 / 3 * soakOrderBytes / (1 << 20)
	}
	return limit
}

// checks are the soak's part of the verdict.
func (r *soakReport) checks() []check {
	lived := check{Name: "every process lived through the soak", Examined: len(r.Growth) + len(r.Missing)}
	for _, missing := range r.Missing {
		lived.violate("%s", missing)
	}
	flat := check{Name: "no process has grown: memory, threads, files, goroutines", Examined: len(r.Growth)}
	for _, g := range r.Growth {
		if g.Last > g.Limit {
			flat.violate("%s: %s %.1f in the first third, %.1f in the last one, at most %.1f are allowed", g.Process, g.Measure, g.First, g.Last, g.Limit)
		}
	}
	return []check{lived, flat}
}

func (p *printer) soak(r *soakReport) {
	if r.Peak > 0 {
		p.line("soak: %.0f s at %.0f flows/s, %.0f%% of the peak of %.0f orders/s; %d samples, medians of the first and the last third",
			r.Seconds, r.Rate, 100*r.Rate/r.Peak, r.Peak, r.Samples)
	} else {
		p.line("soak: %.0f s at %.0f flows/s; %d samples, medians of the first and the last third", r.Seconds, r.Rate, r.Samples)
	}
	p.line("  %-22s %-12s %10s %10s %10s", "process", "", "first", "last", "at most")
	for _, g := range r.Growth {
		verdict := "flat"
		if g.Last > g.Limit {
			verdict = "GROWS"
		}
		p.line("  %-22s %-12s %10.1f %10.1f %10.1f  %s", g.Process, g.Measure, g.First, g.Last, g.Limit, verdict)
	}
}
