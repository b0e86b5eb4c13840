package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"flashsale/internal/catalog"
)

// trial is one run of one side: a fresh server, a warm-up, the load measured, the audit.
type trial struct {
	Round           int      `json:"round"`
	Flows           int      `json:"flows"`
	Placed          int      `json:"placed"`
	OrdersPerSecond float64  `json:"orders_per_second"`
	CPU             orderCPU `json:"cpu_us_per_order"`
	WorkerMemory    int64    `json:"worker_rss_bytes"` // of the largest worker, after the load
	OrderP50        int64    `json:"order_p50_us"`
	OrderP99        int64    `json:"order_p99_us"`
	IdleHeld        int      `json:"idle_held"`         // idle connections still open after the load
	IdleMemory      float64  `json:"idle_memory_bytes"` // that the workers together grew by with each idle connection
	Checks          int      `json:"audit_checks"`      // that found no violation; 0 for a side that is not audited
}

// orderCPU is user and system time by order placed, microseconds.
type orderCPU struct {
	Total     float64 `json:"total"` // app and redis
	App       float64 `json:"app"`
	Redis     float64 `json:"redis"`
	Generator float64 `json:"generator"` // bench itself, not in the total
}

// try makes one trial of a side with the users given.
func (c *comparison) try(ctx context.Context, s *side, opt options, users []catalog.User) (trial, error) {
	folder, err := os.MkdirTemp(c.folder, "trial")
	if err != nil {
		return trial{}, fmt.Errorf("cannot make folder: %w", err)
	}
	defer os.RemoveAll(folder)
	t, err := s.start(ctx, folder, c.product, opt.catalog)
	if err != nil {
		return trial{}, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	defer t.stop()
	opt.servers = t.servers

	warm := warmup(opt)
	held, idleMemory, err := c.hold(ctx, t, opt)
	if err != nil {
		return trial{}, err
	}
	defer held.close()
	attack := attackSlowly(ctx, t.servers, s.slow)
	defer attack.end()
	unpaced := opt
	unpaced.rate, unpaced.duration = 0, 0
	attempts := newLoad(unpaced, c.sale.foods, users[:warm]).run(ctx).attempts
	runtime.GC() // what the warm-up left is not collected at the cost of the load
	before, err := readUsage(t.roots)
	if err != nil {
		return trial{}, err
	}
	result := newLoad(opt, c.sale.foods, users[warm:]).run(ctx)
	after, err := readUsage(t.roots)
	if err != nil {
		return trial{}, err
	}
	if result.interrupted {
		return trial{}, context.Cause(ctx)
	}
	measured, err := newTrial(opt, result, before, after)
	if err != nil {
		return trial{}, err
	}
	measured.IdleHeld, measured.IdleMemory = held.held(), idleMemory
	if s.audited() {
		measured.Checks, err = c.audit(ctx, t, append(attempts, result.attempts...))
	}
	return measured, err
}

// hold opens the idle connections and measures by how much the workers grow with each, bytes. It comes before any load:
// what a load has left free in a worker's heap would hide some of it.
func (c *comparison) hold(ctx context.Context, t *target, opt options) (idle, float64, error) {
	if opt.idle == 0 {
		return nil, 0, nil
	}
	before, err := readUsage(t.roots)
	if err != nil {
		return nil, 0, err
	}
	open, err := openIdle(ctx, opt)
	if err != nil {
		return nil, 0, err
	}
	after, err := readUsage(t.roots)
	if err != nil {
		open.close()
		return nil, 0, err
	}
	return open, float64(after.memory()-before.memory()) / float64(opt.idle), nil
}

// warmup is how many flows go before the load that is measured, by users of their own.
func warmup(opt options) int { return max(opt.orders/10, 2*opt.concurrency) }

func newTrial(opt options, result loadResult, before, after usage) (trial, error) {
	rep := newLoadReport(opt, result)
	if rep.Placed == 0 {
		return trial{}, fmt.Errorf("%w: not one of %d orders was placed; refusals %v, transport errors %v",
			errUnreachable, rep.Flows, rep.Refusals, rep.Faults)
	}
	perOrder := func(cpu time.Duration) float64 {
		return float64(cpu) / float64(time.Microsecond) / float64(rep.Placed)
	}
	app, redis := after.app-before.app, after.redis-before.redis
	order := rep.Latency[stepOrder]
	return trial{
		Flows: rep.Flows, Placed: rep.Placed, OrdersPerSecond: rep.OrdersPerSecond,
		CPU:          orderCPU{Total: perOrder(app + redis), App: perOrder(app), Redis: perOrder(redis), Generator: rep.CPUPerOrder},
		WorkerMemory: after.worker(), OrderP50: order.P50, OrderP99: order.P99,
	}, nil
}

// audit proves that the side sold correctly, so that nothing fast but wrong is compared, and returns the number of checks.
func (c *comparison) audit(ctx context.Context, t *target, attempts []attempt) (int, error) {
	opt := c.opt
	opt.servers = t.servers
	books, err := openBooks(ctx, opt, c.sale.root)
	if err != nil {
		return 0, err
	}
	ev := evidence{sale: c.sale, before: map[string]order{}, attempts: attempts, retried: c.opt.retry}
	if err := books.read(ctx, &ev); err != nil {
		return 0, err
	}
	checks := ev.checks()
	for _, check := range checks {
		if check.Violations > 0 {
			return 0, fmt.Errorf("%w: %s: %d violations, such as: %s", errAudit, check.Name, check.Violations, check.Examples[0])
		}
	}
	return len(checks), nil
}
