package ops

import (
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"flashsale/internal/observe/figures"
	"flashsale/redisx"
)

// collector makes a scrape of the workers' figures and the supervisor's.
type collector struct {
	cfg      func() *Config
	rooms    []Room
	families map[*figures.Family]*prometheus.Desc
}

func newCollector(cfg func() *Config, rooms []Room) *collector {
	c := &collector{cfg, rooms, map[*figures.Family]*prometheus.Desc{}}
	for _, f := range figures.Families {
		c.families[f] = prometheus.NewDesc(f.Name, f.Help, f.Labels, nil)
	}
	return c
}

// Describe names all families.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, f := range figures.Families {
		out <- c.families[f]
	}
}

// Collect reads everything, of one sale even if the next one is opened meanwhile.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	cfg := c.cfg()
	s := &Scrape{Now: time.Now()}
	s.Set(figures.BuildInfo, 1, cfg.Version, runtime.Version())
	s.Set(figures.SaleInfo, 1, cfg.Watch.ID())
	s.SetTime(figures.StartTime, cfg.Started)
	s.SetTime(figures.ClockTime, s.Now)
	s.askRedis(cfg)
	for _, room := range c.rooms {
		room(s)
	}
	for _, f := range figures.Families {
		for _, value := range append(f.Read(cfg.Figures), s.Values(f)...) {
			out <- c.metric(f, value)
		}
	}
}

// metric makes the metric of Prometheus.
func (c *collector) metric(f *figures.Family, v figures.Value) prometheus.Metric {
	if f.Type == "histogram" {
		h, buckets := v.Histogram, map[float64]uint64{}
		for i, bound := range f.Bounds {
			buckets[float64(bound)/f.Unit] = h.Cumulative[i]
		}
		return prometheus.MustNewConstHistogram(c.families[f], h.Count, float64(h.Sum)/f.Unit, buckets,
			v.Labels...)
	}
	kind := prometheus.GaugeValue
	if f.Type == "counter" {
		kind = prometheus.CounterValue
	}
	return prometheus.MustNewConstMetric(c.families[f], kind, v.Number, v.Labels...)
}

// A Scrape holds the metrics that no worker counts, at one moment.
type Scrape struct {
	Now time.Time

	redisUp bool
	values  map[*figures.Family][]figures.Value
}

// RedisUp reports whether Redis has answered in this scrape. If not, a room must not ask Redis: no scrape
// may hang.
func (s *Scrape) RedisUp() bool { return s.redisUp }

// Values returns the values that were set for a metric.
func (s *Scrape) Values(f *figures.Family) []figures.Value { return s.values[f] }

// Set shows a value.
func (s *Scrape) Set(f *figures.Family, value float64, labels ...string) {
	if s.values == nil {
		s.values = map[*figures.Family][]figures.Value{}
	}
	s.values[f] = append(s.values[f], figures.Value{Labels: labels, Number: value})
}

// SetFlag shows 1 or 0.
func (s *Scrape) SetFlag(f *figures.Family, on bool, labels ...string) {
	value := 0.0
	if on {
		value = 1
	}
	s.Set(f, value, labels...)
}

// SetTime shows a moment as Unix time.
func (s *Scrape) SetTime(f *figures.Family, t time.Time) { s.Set(f, float64(t.UnixNano())/1e9) }

// SetAge shows the time since then.
func (s *Scrape) SetAge(f *figures.Family, then time.Time) { s.Set(f, figures.Age(then, s.Now)) }

// askRedis shows the sale as Redis has it. While Redis is away these figures are missing.
func (s *Scrape) askRedis(cfg *Config) {
	var found redisx.Snapshot
	var unknown error
	var asking sync.WaitGroup
	asking.Go(func() { found, unknown = cfg.Watch.Snapshot() }) // with the other question: one round trip
	backlog, err := cfg.Watch.Ready()
	asking.Wait()
	s.redisUp = err == nil
	s.SetFlag(figures.RedisUp, s.redisUp)
	if s.redisUp && backlog.Kept {
		s.Set(figures.LedgerLag, float64(backlog.Orders))
	}
	if s.redisUp && unknown == nil {
		s.snapshot(&found, cfg.Pieces)
	}
	if found.Slices.All > 0 {
		s.slices(&found.Slices)
	}
}

// slices shows how the slices are. These figures are there while Redis is away too.
func (s *Scrape) slices(found *redisx.SliceStates) {
	s.Set(figures.Slices, float64(found.All))
	s.Set(figures.SlicesAway, float64(found.Away))
	s.Set(figures.SlicesLost, float64(found.Lost))
	s.Set(figures.SlicesBehind, float64(found.Behind))
	s.Set(figures.ClockSkew, found.Skew.Seconds())
}

// snapshot shows the stock and the state.
func (s *Scrape) snapshot(found *redisx.Snapshot, pieces int64) {
	left, held, sold, gone := int64(0), int64(0), pieces, 0
	for i, n := range found.Left {
		left += n
		sold += found.Restocked[i] - n - found.HeldOf(i)
		held += found.HeldOf(i)
		if n == 0 {
			gone++
		}
	}
	s.Set(figures.StockPieces, float64(left))
	s.Set(figures.PiecesSold, float64(sold))
	s.Set(figures.SoldOut, float64(gone))
	s.Set(figures.SaleOrders, float64(found.Orders))
	if found.Held != nil {
		s.Set(figures.PiecesHeld, float64(held))
		s.Set(figures.OrdersHeld, float64(found.Holds))
		overdue := time.Duration(0)
		if !found.Due.IsZero() {
			overdue = max(found.Now.Sub(found.Due), 0)
		}
		s.Set(figures.HoldOverdue, overdue.Seconds())
	}
	for _, state := range redisx.States {
		s.SetFlag(figures.SaleState, found.State == state, string(state))
	}
}
