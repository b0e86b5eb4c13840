package load

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"flashsale/internal/catalog"
	"flashsale/scripts/bench/sale"
)

const (
	rampFactor      = 1.25                  // from each step to the next
	rampGoodputMin  = 0.95                  // of the rate offered
	rampOrderP99Max = 50 * time.Millisecond // of the order's own request
	rampOwnP99Max   = 5 * time.Millisecond  // of bench's own lateness, in a step that may be the knee
	rampTriesMax    = 3                     // of one step
)

// RampReport is how far a sale followed a rising rate.
type RampReport struct {
	Seed        uint64     `json:"seed"`
	Concurrency int        `json:"concurrency"` // buyers at once, at most
	Steps       []RampStep `json:"steps"`
	Knee        *RampStep  `json:"knee"`  // the last step that held; null when none did
	Ended       string     `json:"ended"` // why there is no further step
}

// RampStep is one open-loop load at a fixed rate.
type RampStep struct {
	Offered     float64       `json:"offered"` // flows a second, as the intended starts had it
	Goodput     float64       `json:"goodput"` // orders placed a second, until the last flow ended
	Flows       int           `json:"flows"`
	Placed      int           `json:"placed"`
	LateStarts  int64         `json:"late_starts"`
	OwnLateness int64         `json:"generator_lateness_p99_us"`
	Repeated    bool          `json:"repeated"` // because bench itself was late
	Latency     []StepLatency `json:"latency"`
}

// Ramp raises the rate step by step, each with users of their own, until a step does not hold or the users
// run out.
func Ramp(ctx context.Context, opt Options, foods []catalog.Food, users []catalog.User,
	stderr io.Writer) (*RampReport, []sale.Attempt) {
	rep := &RampReport{Seed: opt.Seed, Concurrency: opt.Concurrency}
	rate, length := opt.Rate, opt.Duration
	opt.Duration = 0 // the number of flows ends a step
	var attempts []sale.Attempt
	rep.climb(rate, length, users, stderr, func(rate float64, users []catalog.User) (step RampStep,
		interrupted bool) {
		opt.Rate = rate
		l := New(opt, foods, users)
		result := l.Run(ctx)
		attempts = append(attempts, result.Attempts...)
		return newRampStep(result.Report(), l.starts), result.Interrupted
	})
	return rep, attempts
}

// climb makes the steps by try. A step that does not hold because bench itself was late proves nothing about
// the sale, so it is made again, rampTriesMax times in all.
func (r *RampReport) climb(rate float64, length time.Duration, users []catalog.User, stderr io.Writer,
	try func(rate float64, users []catalog.User) (step RampStep, interrupted bool)) {
	for tries := 1; ; tries++ {
		n := int(math.Ceil(rate * length.Seconds()))
		if n > len(users) {
			r.Ended = fmt.Sprintf("the next step takes %d users who never bought and there are %d; start "+
				"the server with more -users",
				n, len(users))
			return
		}
		step, interrupted := try(rate, users[:n])
		users = users[n:]
		if interrupted {
			r.Ended = "ended early by a signal"
			return
		}
		fmt.Fprintf(stderr, "bench: offered %7.0f/s, placed %7.0f/s, p99 of an order %7.2f ms\n",
			step.Offered, step.Goodput, Millis(step.Latency[StepOrder].P99))
		fault := step.fault()
		late := fault != "" && step.late()
		step.Repeated = late && tries < rampTriesMax
		r.Steps = append(r.Steps, step)
		switch {
		case step.Repeated:
			fmt.Fprintf(stderr, "bench: bench itself was late (%.2f ms p99), so this step is made again\n",
				Millis(step.OwnLateness))
			continue
		case late:
			r.Ended = fmt.Sprintf("%s; but bench itself was late in each of %d tries, so the sale may "+
				"carry more", fault, tries)
			return
		case fault != "":
			r.Ended = fault
			return
		}
		r.Knee = &step
		rate, tries = rate*rampFactor, 0
	}
}

func newRampStep(l *Report, starts []time.Duration) RampStep {
	last := starts[len(starts)-1].Seconds()
	return RampStep{
		// By chance more or fewer flows come than the rate asks for; a server cannot place more than came.
		Offered: float64(len(starts)) / last, Goodput: l.OrdersPerSecond, Flows: l.Flows, Placed: l.Placed,
		LateStarts: l.LateStarts, OwnLateness: l.OwnLateness.P99, Latency: l.Latency,
	}
}

// fault is the reason why a step does not hold, "" when it does.
func (s *RampStep) fault() string {
	if s.Goodput < rampGoodputMin*s.Offered {
		return fmt.Sprintf("at %.0f/s only %.0f orders/s were placed, less than %.0f%% (%d of %d flows "+
			"placed one)",
			s.Offered, s.Goodput, 100*rampGoodputMin, s.Placed, s.Flows)
	}
	if p99 := s.Latency[StepOrder].P99; p99 > rampOrderP99Max.Microseconds() {
		return fmt.Sprintf("at %.0f/s the p99 of an order was %.1f ms, more than %v", s.Offered, Millis(p99),
			rampOrderP99Max)
	}
	return ""
}

// late reports whether bench's own delays may be why a step does not hold. They cannot be why flows ended
// without an order.
func (s *RampStep) late() bool {
	return s.OwnLateness > rampOwnP99Max.Microseconds() &&
		float64(s.Placed) >= rampGoodputMin*float64(s.Flows)
}
