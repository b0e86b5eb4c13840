// Package events tells other programs what happens to orders and to the sale: it posts the events that the
// scripts of the sale have written to receivers, signed as Standard Webhooks 1.0 wants it, at least once, and
// in order for each order. The truth is the stream in Redis; no order waits for a receiver. One server at a
// time does the work for a receiver and a stream.
package events

import (
	"context"
	_ "embed" // the script
	"strconv"
	"sync"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/webhook"
	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

const (
	leaseLife  = 10 * time.Second
	leaseEvery = 3 * time.Second
)

var (
	//go:embed lease.lua
	leaseLua    string
	leaseScript = pipeline.NewScript(leaseLua)
)

// Config of the deliveries.
type Config struct {
	Redis     redisx.Config
	Sale      string
	Server    string // another one for each process
	Receivers []Receiver
	Private   bool          // receivers may have addresses that are not public
	Look      time.Duration // between two looks for new events; 0 counts as 200 ms
	Now       func() time.Time
	Count     func(outcome Outcome) // nil for nothing
}

// Outcome is how the delivery of an event has ended.
type Outcome int

// The outcomes.
const (
	Delivered Outcome = iota
	Dead              // given up after three days; it is kept for a call to send it again
	Lost              // the stream was full before the event was delivered
)

func (c *Config) count(o Outcome) {
	if c.Count != nil {
		c.Count(o)
	}
}

func (c *Config) delivered() { c.count(Delivered) }
func (c *Config) dead()      { c.count(Dead) }
func (c *Config) lost()      { c.count(Lost) }

// Events delivers.
type Events struct {
	cfg        Config
	deliveries []*delivery
	conns      []*pipeline.Conn
}

// New makes Events. Errors: a receiver that cannot be used.
func New(cfg Config) (*Events, error) {
	if cfg.Look == 0 {
		cfg.Look = 200 * time.Millisecond
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	e := &Events{cfg: cfg}
	for slice := range cfg.Redis.SliceCount() {
		keys := cfg.Redis.KeysOf(cfg.Sale, slice)
		conn := pipeline.New(cfg.Redis.Slice(slice), pipeline.Options{Scripts: []*pipeline.Script{leaseScript},
			FieldsMax: 2 * (laterMost + 2), Outage: &pipeline.Outage{Effect: "events are delivered later"}})
		e.conns = append(e.conns, conn)
		streams := []Stream{{cfg.Sale, strconv.Itoa(slice), keys.Events}}
		if slice == 0 {
			streams = append(streams, Stream{cfg.Sale, logName, keys.Log})
		}
		for _, r := range cfg.Receivers {
			hook, err := webhook.New(r.URL, cfg.Private, r.Secrets...)
			if err != nil {
				return nil, err
			}
			for _, s := range streams {
				e.deliveries = append(e.deliveries,
					&delivery{cfg: &e.cfg, receiver: r, stream: s, hook: hook, redis: conn})
			}
		}
	}
	return e, nil
}

// Run delivers until ctx ends, and returns nil then.
func (e *Events) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for _, conn := range e.conns {
		running.Go(func() { _ = conn.Run(ctx) }) // nil
	}
	for _, d := range e.deliveries {
		running.Go(func() { d.run(ctx) })
	}
	running.Wait()
	return nil
}

// run delivers whenever this server has the lease.
func (d *delivery) run(ctx context.Context) {
	for ctx.Err() == nil {
		if !d.lease() {
			background.Pause(ctx, leaseEvery)
			continue
		}
		d.later = nil // another server may have gone on
		held, stop := context.WithCancel(ctx)
		var keeping sync.WaitGroup
		keeping.Go(func() {
			background.Every(held, leaseEvery, func() {
				if !d.lease() {
					stop()
				}
			})
		})
		background.Repeat(held, func() time.Duration { return d.step(held) })
		stop()
		keeping.Wait()
	}
}

// lease takes or keeps the lease.
func (d *delivery) lease() bool {
	var has int64
	x := leaseScript.Call(&has, []string{d.key() + ":lease"}, d.cfg.Server,
		strconv.FormatInt(leaseLife.Milliseconds(), 10))
	return d.redis.Do(x) == nil && has == 1
}
