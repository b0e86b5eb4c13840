package compare

// Report is the output of a comparison; -json prints this one object.
type Report struct {
	Seed   uint64  `json:"seed"`
	Rounds int     `json:"rounds"`
	Orders int     `json:"orders"` // of each run, beside the warm-up
	Tables []Table `json:"tables"` // one per -concurrency
}

// Table compares the sides; the first is the base.
type Table struct {
	Concurrency int           `json:"concurrency"` // buyers at once
	Sides       []SideFigures `json:"sides"`
}

// SideFigures are medians over the rounds, and ratios to the base by round.
type SideFigures struct {
	Side            string   `json:"side"`
	OrdersPerSecond float64  `json:"orders_per_second"`
	CPU             OrderCPU `json:"cpu_us_per_order"`
	WorkerMemory    float64  `json:"worker_rss_bytes"` // of the largest worker, after the load
	OrderP50        float64  `json:"order_p50_us"`
	OrderP99        float64  `json:"order_p99_us"`
	IdleMemory      float64  `json:"idle_memory_bytes"`   // of the workers, with each idle connection
	ViewerMemory    float64  `json:"viewer_memory_bytes"` // of the workers, with each viewer
	CPURatio        Spread   `json:"cpu_ratio"`           // of CPU per order
	OrdersRatio     Spread   `json:"orders_ratio"`        // of orders/s
	Trials          []Trial  `json:"trials"`
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
			WorkerMemory: median(of, func(t Trial) float64 { return float64(t.WorkerMemory) }),
			OrderP50:     median(of, func(t Trial) float64 { return float64(t.OrderP50) }),
			OrderP99:     median(of, func(t Trial) float64 { return float64(t.OrderP99) }),
			IdleMemory:   median(of, func(t Trial) float64 { return t.IdleMemory }),
			ViewerMemory: median(of, func(t Trial) float64 { return t.ViewerMemory }),
			CPURatio:     ratio(of, base, cpu), OrdersRatio: ratio(of, base, ordersPerSecond), Trials: of,
		})
	}
	return table
}
