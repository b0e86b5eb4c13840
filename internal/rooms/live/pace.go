package live

import (
	"encoding/json"
	"math"

	"flashsale/internal/observe/figures"
)

const (
	timedCall   = "POST /orders" // the call that p50_ms and p99_ms are of
	timeSeconds = 10             // for which they count
)

// pace is the data of a pace event.
type pace struct {
	Second      int64             `json:"t"`
	Orders      uint32            `json:"orders"`
	OrdersOf    string            `json:"orders_of"`
	Refused     map[string]uint64 `json:"refused"`
	P50         *float64          `json:"p50_ms"`
	P99         *float64          `json:"p99_ms"`
	Connections int64             `json:"connections"`
	Redis       *string           `json:"redis"`
	LedgerLag   *int              `json:"ledger_lag"`
}

// redis notes what Redis has answered, nil for nothing yet.
func (p *pace) redis(state *State) {
	if state == nil {
		return
	}
	text := "away"
	if state.Up {
		text = "up"
	}
	p.Redis = &text
	if state.Ledger {
		p.LedgerLag = &state.LedgerLag
	}
}

func (p *pace) json() []byte {
	text, err := json.Marshal(p)
	if err != nil { // only for a float that is no number
		panic(err)
	}
	return text
}

// sampler compares the figures of all workers with the last sample.
type sampler struct {
	figures *figures.Memory

	samples int
	served  uint64  // orders of this server
	sold    *uint64 // orders of the sale, nil while they are not known
	refused map[string]float64
	times   [timeSeconds + 1]figures.Histogram // the last samples
}

func newSampler(memory *figures.Memory) sampler { return sampler{figures: memory} }

// sample returns the changes since the last sample, as the pace of a second. sold is the number of orders of
// all servers; without it the orders of this server count.
func (s *sampler) sample(second int64, sold *uint64, first *first) *pace {
	p := &pace{Second: second, OrdersOf: "server", Refused: map[string]uint64{},
		Connections: int64(figures.Sum(figures.Connections.Read(s.figures)))}
	served := uint64(figures.Sum(figures.OrdersPlaced.Read(s.figures)))
	refused := figures.By(figures.ErrorReplies.Read(s.figures))
	if sold != nil {
		p.Orders, p.OrdersOf = s.soldIn(second, *sold, first), "sale"
	}
	if s.samples > 0 {
		if sold == nil {
			p.Orders = more(s.served, served)
		}
		for code, n := range refused {
			if n > s.refused[code] {
				p.Refused[code] = uint64(n - s.refused[code])
			}
		}
	}
	s.served, s.refused = served, refused
	p.P50, p.P99 = s.quantiles(s.figures.TimesOf(timedCall))
	return p
}

// soldIn is the number of orders of the sale since the last sample, or since they were first known.
func (s *sampler) soldIn(second int64, sold uint64, first *first) (orders uint32) {
	switch {
	case s.sold != nil:
		orders = more(*s.sold, sold)
	case first != nil && second < first.second:
		return 0 // the next sample has them
	case first != nil:
		orders = more(first.orders, sold)
	}
	s.sold = &sold
	return orders
}

// more is by how much a count is more than before: not at all where another sale began.
func more(before, now uint64) uint32 {
	if now < before {
		return 0
	}
	return uint32(min(now-before, math.MaxUint32))
}

// quantiles returns the quantiles of the last seconds in milliseconds, nil without an order.
func (s *sampler) quantiles(times figures.Histogram) (p50, p99 *float64) {
	s.times[s.samples%len(s.times)] = times
	s.samples++
	oldest := 0
	if s.samples > len(s.times) {
		oldest = s.samples % len(s.times)
	}
	recent := times.Since(s.times[oldest])
	milliseconds := func(share float64) *float64 {
		value, ok := recent.Quantile(share)
		if !ok {
			return nil
		}
		value = math.Round(value/1e4) / 100
		return &value
	}
	return milliseconds(0.5), milliseconds(0.99)
}
