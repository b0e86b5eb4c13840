package compare

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"flashsale/internal/catalog"
	"flashsale/scripts/bench/audit"
	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/payment"
	"flashsale/scripts/bench/sale"
)

// Trial is one run of one side: a fresh server, a warm-up, the load measured, the audit.
type Trial struct {
	Round           int
	Flows           int
	Placed          int
	OrdersPerSecond float64
	CPU             OrderCPU
	OrdersByScript  float64 // orders placed for each EVALSHA; 0 for a side without a Redis of bench
	WorkerMemory    int64   // of the largest worker, after the load
	OrderP50        int64
	OrderP99        int64
	Idle            int     // connections
	Viewers         int     // of GET /live
	CrowdHeld       int     // of these, still open after the load
	CrowdMemory     float64 // of the workers together, by each
	Refusals        []load.EventCount
	Faults          []load.EventCount
	// without a violation; 0 for a side without audit
	Checks int
}

// OrderCPU is user and system time by order placed, microseconds.
type OrderCPU struct {
	Total     float64 // app and redis
	App       float64
	Redis     float64
	Generator float64 // bench itself, not in the total
}

// try makes one trial of a side with the users given.
func (c *comparison) try(ctx context.Context, s *Side, opt load.Options,
	users []catalog.User) (Trial, error) {
	folder, err := os.MkdirTemp(c.folder, "trial")
	if err != nil {
		return Trial{}, fmt.Errorf("cannot make folder: %w", err)
	}
	defer os.RemoveAll(folder)
	t, err := s.Start(ctx, folder, c.product, c.opt.Catalog)
	if err != nil {
		return Trial{}, fmt.Errorf("%w: %w", sale.ErrUnreachable, err)
	}
	defer t.Stop()
	opt.Servers = t.Servers

	var payer *payment.Payer
	if s.sells() {
		payer, err = payment.Open(ctx, c.opt.Payment, t.Servers, nil, opt.Timeout, opt.Seed)
		if err != nil {
			return Trial{}, err
		}
	}
	began, warm := time.Now(), warmup(opt)
	crowd, crowdMemory, err := s.weighCrowd(ctx, opt, t.Roots)
	if err != nil {
		return Trial{}, err
	}
	defer crowd.Close()
	talk, err := s.startTalk(ctx, folder, t.Servers, c.opt.Catalog)
	if err != nil {
		return Trial{}, err
	}
	defer talk.kill()
	unpaced := opt
	unpaced.Rate, unpaced.Duration = 0, 0
	attempts := load.New(unpaced, c.sale.Foods, users[:warm]).Run(ctx).Attempts
	runtime.GC() // the load does not pay for the garbage of the warm-up
	scriptsBefore, err := t.scripts()
	if err != nil {
		return Trial{}, err
	}
	before, err := ReadUsage(t.Roots)
	if err != nil {
		return Trial{}, err
	}
	result := load.New(opt, c.sale.Foods, users[warm:]).Run(ctx)
	after, err := ReadUsage(t.Roots)
	if err != nil {
		return Trial{}, err
	}
	scriptsAfter, err := t.scripts()
	if err != nil {
		return Trial{}, err
	}
	if result.Interrupted {
		return Trial{}, context.Cause(ctx)
	}
	if err := talk.finish(ctx); err != nil {
		return Trial{}, err
	}
	measured, err := newTrial(result, before, after)
	if err != nil {
		return Trial{}, err
	}
	if scripts := scriptsAfter - scriptsBefore; scripts > 0 {
		measured.OrdersByScript = float64(measured.Placed) / float64(scripts)
	}
	measured.Idle, measured.Viewers = s.idle, s.viewers
	measured.CrowdHeld, measured.CrowdMemory = crowd.Held(), crowdMemory
	if !s.sells() {
		return measured, nil
	}
	ev := audit.Evidence{Sale: c.sale, Attempts: append(attempts, result.Attempts...), Retried: opt.Retry}
	measured.Checks, err = c.prove(ctx, t.Servers, payer, began, ev)
	return measured, err
}

// prove ends the held orders, if there are any, and audits the sale.
func (c *comparison) prove(ctx context.Context, servers []string, payer *payment.Payer, began time.Time,
	ev audit.Evidence) (checks int, err error) {
	if payer != nil {
		ev.Endings, _ = payer.End(ctx, began, c.sale, ev.Attempts)
	}
	return Prove(ctx, servers, ev)
}

// weighCrowd opens the side's crowd and measures by how much the workers grow with each connection, bytes.
// It comes before any load: free heap left by a load would hide some of the growth.
func (s *Side) weighCrowd(ctx context.Context, opt load.Options, roots []int) (*load.Crowd, float64, error) {
	before, err := ReadUsage(roots)
	if err != nil {
		return nil, 0, err
	}
	crowd, err := s.gather(ctx, opt)
	if err != nil {
		return nil, 0, err
	}
	after, err := ReadUsage(roots)
	if err != nil {
		crowd.Close()
	}
	return crowd, float64(after.Memory()-before.Memory()) / float64(max(1, s.idle+s.viewers)), err
}

// warmup is the number of flows before the load that is measured, by users of their own.
func warmup(opt load.Options) int { return max(opt.Orders/10, 2*opt.Concurrency) }

func newTrial(result load.Result, before, after Usage) (Trial, error) {
	rep := result.Report()
	if rep.Placed == 0 {
		return Trial{}, fmt.Errorf("%w: not one of %d orders was placed; refusals %v, transport errors %v",
			sale.ErrUnreachable, rep.Flows, rep.Refusals, rep.Faults)
	}
	perOrder := func(cpu time.Duration) float64 {
		return float64(cpu) / float64(time.Microsecond) / float64(rep.Placed)
	}
	app, redis := after.App-before.App, after.Redis-before.Redis
	order := rep.Latency[load.StepOrder]
	return Trial{
		Flows: rep.Flows, Placed: rep.Placed, OrdersPerSecond: rep.OrdersPerSecond,
		CPU: OrderCPU{Total: perOrder(app + redis), App: perOrder(app), Redis: perOrder(redis),
			Generator: rep.CPUPerOrder},
		WorkerMemory: after.LargestWorker(), OrderP50: order.P50, OrderP99: order.P99,
		Refusals: rep.Refusals, Faults: rep.Faults,
	}, nil
}

// Prove audits servers that were new before the attempts: a fast but wrong server must not win. It returns
// the number of checks; a violation is an audit.ErrFailed.
func Prove(ctx context.Context, servers []string, ev audit.Evidence) (int, error) {
	books, err := audit.Open(ctx, &sale.Access{Servers: servers}, ev.Sale.Root)
	if err != nil {
		return 0, err
	}
	ev.Begin() // with no order: the server is new
	if err := books.Read(ctx, &ev); err != nil {
		return 0, err
	}
	checks := ev.Checks()
	for _, check := range checks {
		if check.Violations > 0 {
			return 0, fmt.Errorf("%w: %s: %d violations, such as: %s", audit.ErrFailed, check.Name,
				check.Violations, check.Examples[0])
		}
	}
	return len(checks), nil
}
