package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"flashsale/internal/proc"
	"flashsale/scripts/bench/audit"
	"flashsale/scripts/bench/sale"
)

const (
	watchSamples     = 120 // in a soak, if the shortest interval allows
	watchIntervalMin = 250 * time.Millisecond
	// of the samples, left out of the comparison: workers start, connections open, heaps find their size
	soakSettling = 0.1
	// A shorter soak does not judge memory: the heap of a fresh process finds its size only after some seconds.
	memorySeconds = 60
	// of the store's memory, for each order in between: the store keeps every order
	orderBytes = 256
)

// Measure is one of the figures that must not grow.
type Measure string

const (
	// resident, without the catalogue's image, which all processes share and touch bit by bit
	memory  Measure = "memory, MB"
	threads Measure = "threads"
	files   Measure = "files"
)

// tolerances are the growth allowed from the first third to the last: first x factor + slack.
var tolerances = map[Measure]struct{ factor, slack float64 }{
	memory: {1.10, 4}, threads: {1, 4}, files: {1, 16},
}

// gauge is a figure of one process.
type gauge struct {
	process string // name and pid
	store   bool
	measure Measure
}

// sample is one reading of all gauges, without those that could not be read.
type sample map[gauge]float64

// watch takes samples of the processes under the roots until ctx ends.
func watch(ctx context.Context, roots []int, interval time.Duration) ([]sample, error) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for samples := []sample(nil); ; {
		now, err := look(roots)
		if err != nil {
			return nil, fmt.Errorf("cannot watch the server: %w", err)
		}
		samples = append(samples, now)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return samples, nil
		}
	}
}

// look reads all gauges, without children of a store: they rewrite its log and end.
func look(roots []int) (sample, error) {
	table, err := proc.All()
	if err != nil {
		return nil, err
	}
	now := sample{}
	picked := proc.Tree(table, roots...)
	for _, p := range picked {
		ofStore := slices.ContainsFunc(picked,
			func(other proc.Stat) bool { return other.PID == p.Parent && isStore(other.Name) })
		if !ofStore {
			now.addProcess(p)
		}
	}
	return now, nil
}

// addProcess adds the gauges of a process, unless it has ended since the table was read.
func (s sample) addProcess(p proc.Stat) {
	status, err1 := proc.ReadStatus(p.PID)
	descriptors, err2 := proc.Files(p.PID)
	if errors.Join(err1, err2) != nil {
		return
	}
	name, store := p.Name+" "+strconv.Itoa(p.PID), isStore(p.Name)
	s[gauge{name, store, memory}] = float64(status.Resident-status.Shared) / (1 << 20)
	s[gauge{name, store, threads}] = float64(status.Threads)
	s[gauge{name, store, files}] = float64(descriptors)
}

// SoakReport is the growth of the processes of a server in a long load.
type SoakReport struct {
	Seconds float64  `json:"seconds"`
	Rate    float64  `json:"rate"` // flows a second
	Samples int      `json:"samples"`
	Growth  []Growth `json:"growth"`
	// gauges missing in some samples: a process ended or started
	Missing []string `json:"missing,omitempty"`
}

// Growth is one figure of one process.
type Growth struct {
	Process string  `json:"process"`
	Measure Measure `json:"measure"`
	First   float64 `json:"first_third"` // median
	Last    float64 `json:"last_third"`  // median
	Limit   float64 `json:"limit"`       // of the last third
}

// newSoakReport compares the thirds of the samples; placed orders came meanwhile.
func newSoakReport(samples []sample, placed int) (*SoakReport, error) {
	rep := &SoakReport{Samples: len(samples)}
	settled := samples[int(soakSettling*float64(len(samples))):]
	third := len(settled) / 3
	if third == 0 {
		return nil, fmt.Errorf("%w: %d samples are too few to tell growth from chance; let the soak be "+
			"longer", sale.ErrUsage, len(samples))
	}
	seen := map[gauge]int{}
	for _, s := range settled {
		for g := range s {
			seen[g]++
		}
	}
	for g, n := range seen {
		if n < len(settled) {
			rep.Missing = append(rep.Missing,
				fmt.Sprintf("%s: %s in %d of %d samples", g.process, g.measure, n, len(settled)))
			continue
		}
		first, last := g.median(settled[:third]), g.median(settled[len(settled)-third:])
		rep.Growth = append(rep.Growth, Growth{g.process, g.measure, first, last, g.limit(first, placed)})
	}
	slices.Sort(rep.Missing)
	slices.SortFunc(rep.Growth, func(a, b Growth) int {
		return cmp.Or(cmp.Compare(a.Measure, b.Measure), cmp.Compare(a.Process, b.Process))
	})
	return rep, nil
}

func (g gauge) median(samples []sample) float64 {
	numbers := make([]float64, len(samples))
	for i, s := range samples {
		numbers[i] = s[g]
	}
	return NewSpread(numbers).Median
}

// limit is the greatest allowed value of the last third. Two thirds of the orders come between the middles
// of the thirds.
func (g gauge) limit(first float64, placed int) float64 {
	limit := first*tolerances[g.measure].factor + tolerances[g.measure].slack
	if g.store && g.measure == memory {
		limit += float64(placed) * 2 / 3 * orderBytes / (1 << 20)
	}
	return limit
}

// Checks are the soak's part of the verdict.
func (r *SoakReport) Checks() []audit.Check {
	lived := audit.Check{Name: "every process lived through the soak", Examined: len(r.Growth) +
		len(r.Missing)}
	for _, missing := range r.Missing {
		lived.Violate("%s", missing)
	}
	flat := audit.Check{Name: "no process has grown: memory, threads, files", Examined: len(r.Growth)}
	for _, g := range r.Growth {
		if g.Measure == memory && r.Seconds < memorySeconds {
			continue
		}
		if g.Last > g.Limit {
			flat.Violate("%s: %s %.1f in the first third, %.1f in the last one, at most %.1f are allowed",
				g.Process, g.Measure, g.First, g.Last, g.Limit)
		}
	}
	return []audit.Check{lived, flat}
}
