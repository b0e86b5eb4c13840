// Package events tells other programs what happens to orders and to the sale. The scripts of the sale have
// written the events to streams in Redis, and these are the truth: no order waits for anybody who reads
// them.
//
// A Reader reads them for GET /events. A Sender posts them to receivers, signed as Standard Webhooks 1.0
// wants it: each event at least once, and those of one order in order. One server at a time does the work
// for a receiver and a stream. Webhooks shows operators how the receivers do.
package events

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/logpace"
	"flashsale/internal/webhook"
	"flashsale/redisx/pipeline"
)

const (
	leaseLife  = 10 * time.Second
	leaseEvery = 3 * time.Second
	trimEvery  = time.Minute
	endedLooks = 50 // times as long from one look for events of a sale that has ended to the next
	redialling = 50 * time.Millisecond
)

var scripts = []*pipeline.Script{pipeline.LeaseScript, trimScript, expireScript}

// fieldsMax is the most fields of a hash of this room.
const fieldsMax = 2 * (laterMost + batch + 10)

// Config of a Sender.
type Config struct {
	Server    string // another one for each server
	Receivers []Receiver
	Private   bool // receivers may have addresses that are not public
	Ended     bool // the sale has ended: only late payments and refunds still make events
	Count     func(receiver string, outcome Outcome, events int)

	// The rest is for tests; zero values count as the constants.
	Look time.Duration // between two looks for new events
	Now  func() time.Time
}

// Outcome is how the delivery of an event has ended.
type Outcome int

// The outcomes.
const (
	Delivered Outcome = iota
	Dead              // given up after three days; it is kept for a call to send it again
	Lost              // the stream was full before the event was delivered
)

// Sender delivers the events of a sale to receivers.
type Sender struct {
	cfg        Config
	streams    *Streams
	deliveries []*delivery
	pace       logpace.Pace
}

// NewSender makes a Sender. Errors: a receiver that cannot be used.
func NewSender(s *Streams, cfg Config) (*Sender, error) {
	if cfg.Look == 0 {
		cfg.Look = look
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Count == nil {
		cfg.Count = func(string, Outcome, int) {}
	}
	e := &Sender{cfg: cfg, streams: s}
	for _, r := range cfg.Receivers {
		hook, err := webhook.New(r.URL, cfg.Private, r.Secrets...)
		if err != nil {
			return nil, err
		}
		for _, of := range s.list {
			e.deliveries = append(e.deliveries, &delivery{cfg: &e.cfg, receiver: r, stream: of, hook: hook})
		}
	}
	return e, nil
}

// Run delivers until ctx ends, and returns nil then. The Streams must run.
func (e *Sender) Run(ctx context.Context) error {
	var delivering sync.WaitGroup
	for _, d := range e.deliveries {
		delivering.Go(func() { d.run(ctx) })
	}
	background.Every(ctx, trimEvery, func() { e.trim(ctx) })
	delivering.Wait()
	return nil
}

// trim cuts off what need not be kept, or lets the streams of a sale that has ended expire.
func (e *Sender) trim(ctx context.Context) {
	for _, s := range e.streams.list {
		for more := true; more && ctx.Err() == nil; {
			var err error
			if e.cfg.Ended {
				more, err = false, s.expire(e.cfg.Receivers)
			} else {
				more, err = s.trim(e.cfg.Receivers, keep, cap)
			}
			if err != nil && e.pace.Due(time.Now()) > 0 {
				slog.Warn("old events are not cut off", "stream", s.key, "error", err)
			}
		}
	}
}

// run delivers whenever this server has the lease.
func (d *delivery) run(ctx context.Context) {
	for ctx.Err() == nil {
		has, err := d.lease()
		switch {
		case err != nil: // the connection is not up yet, or it is lost
			background.Pause(ctx, redialling)
		case !has:
			background.Pause(ctx, leaseEvery)
		default:
			if d.hold(ctx); d.over {
				d.over = false
				background.Pause(ctx, endedLooks*d.cfg.Look)
			}
		}
	}
}

// hold delivers while this server has the lease.
func (d *delivery) hold(ctx context.Context) {
	d.loaded = false // another server may have gone on
	held, stop := context.WithCancel(ctx)
	defer stop()
	var keeping sync.WaitGroup
	keeping.Go(func() {
		background.Every(held, leaseEvery, func() {
			if has, err := d.lease(); err != nil || !has {
				stop()
			}
		})
	})
	background.Repeat(held, func() time.Duration {
		pause := d.step(held)
		if d.over {
			stop()
		}
		return pause
	})
	stop()
	keeping.Wait()
}

// lease takes or keeps the lease.
func (d *delivery) lease() (bool, error) {
	return d.stream.redis.Lease(d.stream.leaseKey(d.receiver.Name), d.cfg.Server, leaseLife)
}
