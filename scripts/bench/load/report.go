package load

import (
	"cmp"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"flashsale/scripts/bench/sale"
)

// Report is the outcome of a load.
type Report struct {
	Seed        uint64 `json:"seed"`
	Concurrency int    `json:"concurrency"` // buyers at once
	// intended flows a second; 0 in the closed loop
	Rate            float64     `json:"rate"`
	LateStarts      int64       `json:"late_starts"`        // without a free buyer at that time
	OwnLateness     StepLatency `json:"generator_lateness"` // of the other starts: bench's own error
	Flows           int         `json:"flows"`              // begun
	Skipped         int         `json:"users_skipped"`      // who had an order before the load
	Placed          int         `json:"placed"`             // orders answered 200
	Refused         int         `json:"refused"`            // orders answered with a reason
	Unknown         int         `json:"unknown"`            // orders of unknown outcome
	ElapsedSeconds  float64     `json:"elapsed_seconds"`
	OrdersPerSecond float64     `json:"orders_per_second"` // mean
	BestSecond      int64       `json:"best_second"`       // orders
	// orders/s; null when the load lasted less than three seconds
	ContestScore   *float64 `json:"contest_score"`
	PlacedBySecond []int64  `json:"placed_by_second"`
	// latency of the orders answered in each second, within 6%
	OrderBySecond []StepLatency `json:"order_by_second"`
	CPUPerOrder   float64       `json:"generator_cpu_us_per_order"` // user and system time of bench itself
	Interrupted   bool          `json:"interrupted"`                // by a signal
	Latency       []StepLatency `json:"latency"`                    // by step, then of the whole flow
	// name: code of the error body, or the HTTP status
	Refusals []EventCount `json:"refusals"`
	Faults   []EventCount `json:"transport_errors"`   // name: kind
	Settling *Settlement  `json:"settling,omitempty"` // with -retry
	Traffic
}

// Settlement is the effect of -retry.
type Settlement struct {
	Settled  int          `json:"settled"`  // orders placed or refused whose outcome was unknown at first
	Stranded int          `json:"stranded"` // flows without an order after all retries
	Retries  []EventCount `json:"retries"`  // name: the kind of retry
}

// FlowRow is the row of whole flows, from the intended start to the order's answer.
const FlowRow = "flow"

// StepLatency is the latency of one step's replies, microseconds.
type StepLatency struct {
	Step  string `json:"step"`
	Count int64  `json:"count"`
	P50   int64  `json:"p50_us"`
	P90   int64  `json:"p90_us"`
	P99   int64  `json:"p99_us"`
	P999  int64  `json:"p99.9_us"`
	Max   int64  `json:"max_us"`
}

// EventCount is how often a step met something.
type EventCount struct {
	Step  string `json:"step"`
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// Report is the outcome in numbers.
func (r Result) Report() *Report {
	t, opt := r.tally, r.opt
	rep := &Report{
		Seed: opt.Seed, Concurrency: opt.Concurrency, Rate: opt.Rate, LateStarts: t.queued,
		OwnLateness: newStepLatency("start", t.late), Flows: len(r.Attempts), Interrupted: r.Interrupted,
		ElapsedSeconds: r.Elapsed.Seconds(), BestSecond: slices.Max(t.placed), PlacedBySecond: t.placed,
		Refusals: countEvents(t.events[refusal]), Faults: countEvents(t.events[fault]), Traffic: t.traffic,
	}
	for _, try := range r.Attempts {
		switch try.Outcome {
		case sale.Placed:
			rep.Placed++
		case sale.Refused:
			rep.Refused++
		case sale.Unknown:
			rep.Unknown++
		}
	}
	if opt.Retry {
		rep.Settling = newSettlement(r)
	}
	rep.OrdersPerSecond = float64(rep.Placed) / rep.ElapsedSeconds
	if rep.Placed > 0 {
		rep.CPUPerOrder = float64(r.CPU) / float64(time.Microsecond) / float64(rep.Placed)
	}
	if score, ok := contestScore(t.placed); ok {
		rep.ContestScore = &score
	}
	for s, h := range t.latency {
		rep.Latency = append(rep.Latency, newStepLatency(Step(s).String(), h))
	}
	rep.Latency = append(rep.Latency, newStepLatency(FlowRow, t.flow))
	for _, h := range t.orders {
		rep.OrderBySecond = append(rep.OrderBySecond, newStepLatency(StepOrder.String(), h))
	}
	return rep
}

func newSettlement(r Result) *Settlement {
	s := &Settlement{Retries: countEvents(r.tally.events[retry])}
	for _, try := range r.Attempts {
		if try.Settled {
			s.Settled++
		}
		if try.Outcome == sale.Stranded {
			s.Stranded++
		}
	}
	return s
}

// newStepLatency sums up a histogram of microseconds.
func newStepLatency(name string, h *hdrhistogram.Histogram) StepLatency {
	return StepLatency{Step: name, Count: h.TotalCount(), P50: h.ValueAtPercentile(50),
		P90: h.ValueAtPercentile(90),
		P99: h.ValueAtPercentile(99), P999: h.ValueAtPercentile(99.9), Max: h.Max()}
}

// countEvents lists events by step, the frequent ones first.
func countEvents(counts map[event]int64) []EventCount {
	events := make([]event, 0, len(counts))
	for e := range counts {
		events = append(events, e)
	}
	slices.SortFunc(events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(counts[b], counts[a]),
			cmp.Compare(a.name, b.name))
	})
	list := make([]EventCount, len(events))
	for i, e := range events {
		list[i] = EventCount{e.step.String(), e.name, counts[e]}
	}
	return list
}

// Millis turns microseconds into milliseconds.
func Millis(micros int64) float64 { return float64(micros) / 1000 }

const (
	scoreBucketsMin = 3 // one remains without the best and the worst
	scoreTop        = 5
)

// contestScore is the score of the 2015 contest: of the orders placed in each second, the best and the worst
// second are dropped, and the mean of the top five of the rest counts. Fewer than three seconds have no
// score.
func contestScore(seconds []int64) (score float64, ok bool) {
	if len(seconds) < scoreBucketsMin {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(seconds))
	rest := sorted[1 : len(sorted)-1]
	top := rest[max(0, len(rest)-scoreTop):]
	var sum int64
	for _, n := range top {
		sum += n
	}
	return float64(sum) / float64(len(top)), true
}
