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

// Marker is what Redis knows of the sale it holds, beside its state.
type Marker struct {
	Sale     string
	Catalog  string   // tells catalogues of foods apart
	Previous []string // ids of the sales before it, the last one first

	Exported time.Time // since it was closed; the zero time for never
	Orders   int64     // in that export

	Next string // id of the sale that is being opened in its place, "" for none
}

// Follows reports whether this is a sale behind the one with the id.
func (m *Marker) Follows(id string) bool { return slices.Contains(m.Previous, id) }

// ReadMarker reads it. Errors: ErrNoSale, or why Redis cannot be asked.
func ReadMarker(ctx context.Context, cfg Config) (*Marker, error) {
	l, err := pipeline.Dial(ctx, cfg.Config)
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

// Follower looks again and again at the marker and the log, over a connection of its own.
type Follower struct {
	cfg   Config
	redis *pipeline.Conn

	logged, from string // the sale of the log that is read, and the first entry that was not read yet
}

// Follow makes a Follower, which reads what is logged of the sale from now on. Run must run for its calls to
// be answered. Errors: why Redis cannot be asked.
func Follow(ctx context.Context, cfg Config, sale string) (*Follower, error) {
	l, err := pipeline.Dial(ctx, cfg.Config)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	var last []radix.StreamEntry
	x := pipeline.Command(&last, "XREVRANGE", KeysOf(sale).Log, "+", "-", "COUNT", "1")
	if err := l.Do(x, cfg.Timeout); err != nil {
		return nil, fmt.Errorf("cannot read the log of the sale in Redis at %s: %w", cfg.Address, err)
	}
	redis := pipeline.New(cfg.Config, pipeline.Options{
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

// markerReply is the fields of the marker as Redis has them.
type markerReply struct{ id, catalog, previous, exported, orders, next string }

func (r *markerReply) call() *pipeline.Call {
	return pipeline.Command(&radix.Tuple{&r.id, &r.catalog, &r.previous, &r.exported, &r.orders, &r.next},
		"HMGET", MarkerKey, "id", "catalog", "previous", "exported", "exported_orders", "next_id")
}

// marker reads the reply that came with err.
func (r *markerReply) marker(err error, cfg Config) (*Marker, error) {
	if err != nil {
		return nil, fmt.Errorf("cannot read the sale in Redis at %s: %w", cfg.Address, err)
	}
	if r.id == "" {
		return nil, fmt.Errorf("%w: %s", ErrNoSale, cfg.Address)
	}
	return &Marker{Sale: r.id, Catalog: r.catalog, Previous: strings.Fields(r.previous),
		Exported: timeOf(optional(r.exported)), Orders: optional(r.orders), Next: r.next}, nil
}
