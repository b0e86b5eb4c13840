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
	"flashsale/scripts/bench/sale"
)

// Trial is one run of one side: a fresh server, a warm-up, the load measured, the audit.
type Trial struct {
	Round           int      `json:"round"`
	Flows           int      `json:"flows"`
	Placed          int      `json:"placed"`
	OrdersPerSecond float64  `json:"orders_per_second"`
	CPU             OrderCPU `json:"cpu_us_per_order"`
	WorkerMemory    int64    `json:"worker_rss_bytes"` // of the largest worker, after the load
	OrderP50        int64    `json:"order_p50_us"`
	OrderP99        int64    `json:"order_p99_us"`
	Idle            int      `json:"idle"`                // connections
	IdleHeld        int      `json:"idle_held"`           // still open after the load
	IdleMemory      float64  `json:"idle_memory_bytes"`   // of the workers together, by each
	Viewers         int      `json:"viewers"`             // of GET /live
	ViewersHeld     int      `json:"viewers_held"`        // still there after the load
	ViewerMemory    float64  `json:"viewer_memory_bytes"` // of the workers together, by each
	Connections     int64    `json:"connections"`         // opened by the buyers during the load
	// of these, opened again because the server had closed an idle one
	Reconnects int64             `json:"reconnects"`
	Refusals   []load.EventCount `json:"refusals"`
	Faults     []load.EventCount `json:"transport_errors"`
	// without a violation; 0 for a side without audit
	Checks int `json:"audit_checks"`
}

// OrderCPU is user and system time by order placed, microseconds.
type OrderCPU struct {
	Total     float64 `json:"total"` // app and redis
	App       float64 `json:"app"`
	Redis     float64 `json:"redis"`
	Generator float64 `json:"generator"` // bench itself, not in the total
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

	warm := warmup(opt)
	idle, idleMemory, err := t.gather(ctx, opt, s.idle, load.OpenIdle)
	if err != nil {
		return Trial{}, err
	}
	defer idle.Close()
	viewers, viewerMemory, err := t.gather(ctx, opt, s.viewers, load.OpenViewers)
	if err != nil {
		return Trial{}, err
	}
	defer viewers.Close()
	attack := attackSlowly(ctx, t.Servers, s.slow)
	defer attack.end()
	unpaced := opt
	unpaced.Rate, unpaced.Duration = 0, 0
	attempts := load.New(unpaced, c.sale.Foods, users[:warm]).Run(ctx).Attempts
	runtime.GC() // the load does not pay for the garbage of the warm-up
	before, err := ReadUsage(t.Roots)
	if err != nil {
		return Trial{}, err
	}
	result := load.New(opt, c.sale.Foods, users[warm:]).Run(ctx)
	after, err := ReadUsage(t.Roots)
	if err != nil {
		return Trial{}, err
	}
	if result.Interrupted {
		return Trial{}, context.Cause(ctx)
	}
	measured, err := newTrial(result, before, after)
	if err != nil {
		return Trial{}, err
	}
	measured.Idle, measured.IdleHeld, measured.IdleMemory = s.idle, idle.Held(), idleMemory
	measured.Viewers, measured.ViewersHeld, measured.ViewerMemory = s.viewers, viewers.Held(), viewerMemory
	if s.sells() {
		measured.Checks, err = Prove(ctx, t.Servers, c.sale, append(attempts, result.Attempts...), opt.Retry)
	}
	return measured, err
}

// gather opens n connections of a crowd and measures by how much the workers grow with each, bytes. It comes
// before any load: free heap left by a load would hide some of the growth.
func (t *Target) gather(ctx context.Context, opt load.Options, n int,
	open func(context.Context, load.Options, int) (*load.Crowd, error)) (*load.Crowd, float64, error) {
	if n == 0 {
		return nil, 0, nil
	}
	before, err := ReadUsage(t.Roots)
	if err != nil {
		return nil, 0, err
	}
	crowd, err := open(ctx, opt, n)
	if err != nil {
		return nil, 0, err
	}
	after, err := ReadUsage(t.Roots)
	if err != nil {
		crowd.Close()
	}
	return crowd, float64(after.Memory()-before.Memory()) / float64(n), err
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
		Connections: rep.Connections, Reconnects: rep.Reconnects, Refusals: rep.Refusals, Faults: rep.Faults,
	}, nil
}

// Prove audits servers that were new before the attempts: a fast but wrong server must not win. It returns
// the number of checks; a violation is an audit.ErrFailed.
func Prove(ctx context.Context, servers []string, onSale *sale.Sale, attempts []sale.Attempt,
	retried bool) (int, error) {
	books, err := audit.Open(ctx, &sale.Access{Servers: servers}, onSale.Root)
	if err != nil {
		return 0, err
	}
	ev := audit.Evidence{Sale: onSale, Attempts: attempts, Retried: retried}
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
