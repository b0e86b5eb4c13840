package redisx

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

// Marker describes the sale that Redis holds, without its state.
type Marker struct {
	Sale     string
	Catalog  string        // fingerprint of the foods
	Previous []string      // ids of the sales before it, the last one first
	Slices   int           // how many the sale has
	Hold     time.Duration // how long an order is held until it is paid; 0: orders are final at once

	Exported time.Time // last export since the sale was closed; zero for none
	Orders   int64     // in that export

	Next string // id of the sale that a turnover is opening in its place, "" for none
}

// Follows reports whether this sale came after the sale with the id.
func (m *Marker) Follows(id string) bool { return slices.Contains(m.Previous, id) }

// ReadMarker reads the marker. Errors: ErrNoSale, or why Redis cannot be asked.
func ReadMarker(ctx context.Context, cfg Config) (*Marker, error) {
	l, err := pipeline.Dial(ctx, cfg.Home())
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if err := sayPing(l, cfg); err != nil {
		return nil, err
	}
	var r markerReply
	return r.marker(l.Do(r.call(), cfg.Timeout), cfg)
}

// Follower polls the marker and the log over a connection of its own.
type Follower struct {
	cfg   Config
	redis *pipeline.Conn

	logged, from string // the sale of the log, and the next entry to read
}

// Follow makes a Follower, which reads new log entries of the sale from now on. Its calls are answered only
// while Run runs. Errors: why Redis cannot be asked.
func Follow(ctx context.Context, cfg Config, sale string) (*Follower, error) {
	l, err := pipeline.Dial(ctx, cfg.Home())
	if err != nil {
		return nil, err
	}
	defer l.Close()
	var last []radix.StreamEntry
	x := pipeline.Command(&last, "XREVRANGE", cfg.KeysOf(sale, 0).Log, "+", "-", "COUNT", "1")
	if err := l.Do(x, cfg.Timeout); err != nil {
		return nil, fmt.Errorf("cannot read the log of the sale in Redis at %s: %w", cfg.Address, err)
	}
	redis := pipeline.New(cfg.Home(), pipeline.Options{
		Outage: &pipeline.Outage{Effect: "the next sale would not be noticed"}})
	return &Follower{cfg: cfg, redis: redis, logged: sale, from: behind(last)}, nil
}

// Run keeps the connection until ctx ends, and returns nil then.
func (f *Follower) Run(ctx context.Context) error { return f.redis.Run(ctx) }

// Marker reads the marker. Errors: as ReadMarker.
func (f *Follower) Marker() (*Marker, error) {
	var r markerReply
	return r.marker(f.redis.Do(r.call()), f.cfg)
}

// markerReply has the fields of the marker as Redis returns them.
type markerReply struct{ id, catalog, previous, exported, orders, next, slices, hold string }

func (r *markerReply) call() *pipeline.Call {
	return pipeline.Command(&radix.Tuple{&r.id, &r.catalog, &r.previous, &r.exported, &r.orders, &r.next,
		&r.slices, &r.hold},
		"HMGET", MarkerKey, "id", "catalog", "previous", "exported", "exported_orders", "next_id", "slices",
		"hold")
}

// marker makes a Marker of the reply that came with err.
func (r *markerReply) marker(err error, cfg Config) (*Marker, error) {
	if err != nil {
		return nil, fmt.Errorf("cannot read the sale in Redis at %s: %w", cfg.Address, err)
	}
	if r.id == "" {
		return nil, fmt.Errorf("%w: %s", ErrNoSale, cfg.Address)
	}
	return &Marker{Sale: r.id, Catalog: r.catalog, Previous: strings.Fields(r.previous),
		Exported: timeOf(optional(r.exported)), Orders: optional(r.orders), Next: r.next,
		Slices: max(int(optional(r.slices)), 1), Hold: time.Duration(optional(r.hold)) * time.Millisecond}, nil
}
