package compare

import "slices"

// Report is the output of a comparison.
type Report struct {
	Seed   uint64
	Rounds int
	Orders int     // of each run, beside the warm-up
	Tables []Table // one per -concurrency
}

// Table compares the sides; the first is the base.
type Table struct {
	Concurrency int // buyers at once
	Sides       []SideFigures
}

// SideFigures are medians over the rounds, and ratios to the base by round.
type SideFigures struct {
	Side            string
	OrdersPerSecond float64
	CPU             OrderCPU
	OrdersByScript  float64
	WorkerMemory    float64 // of the largest worker, after the load
	OrderP50        float64
	OrderP99        float64
	CrowdMemory     float64 // of the workers, with each connection of the crowd
	CPURatio        Spread  // of CPU per order
	OrdersRatio     Spread  // of orders/s
	Trials          []Trial
}

func newTable(concurrency int, sides []Side, trials [][]Trial) Table {
	table := Table{Concurrency: concurrency}
	for i, s := range sides {
		of, base := trials[i], trials[0]
		ordersPerSecond := func(t Trial) float64 { return t.OrdersPerSecond }
		cpu := func(t Trial) float64 { return t.CPU.Total }
		table.Sides = append(table.Sides, SideFigures{
			Side: s.text, OrdersPerSecond: median(of, ordersPerSecond),
			CPU: OrderCPU{
				Total: median(of, cpu), App: median(of, func(t Trial) float64 { return t.CPU.App }),
				Redis:     median(of, func(t Trial) float64 { return t.CPU.Redis }),
				Generator: median(of, func(t Trial) float64 { return t.CPU.Generator }),
			},
			OrdersByScript: median(of, func(t Trial) float64 { return t.OrdersByScript }),
			WorkerMemory:   median(of, func(t Trial) float64 { return float64(t.WorkerMemory) }),
			OrderP50:       median(of, func(t Trial) float64 { return float64(t.OrderP50) }),
			OrderP99:       median(of, func(t Trial) float64 { return float64(t.OrderP99) }),
			CrowdMemory:    median(of, func(t Trial) float64 { return t.CrowdMemory }),
			CPURatio:       ratio(of, base, cpu), OrdersRatio: ratio(of, base, ordersPerSecond), Trials: of,
		})
	}
	return table
}

// Spread is the middle and the ends of some numbers.
type Spread struct {
	Median float64
	Min    float64
	Max    float64
}

// NewSpread needs at least one number; the median of an even number of them is the mean of the middle two.
func NewSpread(numbers []float64) Spread {
	sorted := slices.Sorted(slices.Values(numbers))
	n := len(sorted)
	return Spread{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Min: sorted[0], Max: sorted[n-1]}
}

// median is the median of a figure over the trials.
func median(trials []Trial, figure func(Trial) float64) float64 {
	return NewSpread(figures(trials, figure)).Median
}

func figures(trials []Trial, figure func(Trial) float64) []float64 {
	numbers := make([]float64, len(trials))
	for i, t := range trials {
		numbers[i] = figure(t)
	}
	return numbers
}

// ratio divides a figure by the base's of the same round, because what slows the machine for a minute slows
// both.
func ratio(trials, base []Trial, figure func(Trial) float64) Spread {
	numbers := figures(trials, figure)
	for i, of := range figures(base, figure) {
		numbers[i] /= of
	}
	return NewSpread(numbers)
}
