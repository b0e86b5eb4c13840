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
	m := &Marker{}
	var previous, exported, orders string
	x := pipeline.Command(&radix.Tuple{&m.Sale, &m.Catalog, &previous, &exported, &orders, &m.Next},
		"HMGET", saleKey, "id", "catalog", "previous", "exported", "exported_orders", "next_id")
	if err := l.Do(x, cfg.Timeout); err != nil {
		return nil, fmt.Errorf("cannot read the sale in Redis at %s: %w", cfg.Address, err)
	}
	if m.Sale == "" {
		return nil, fmt.Errorf("%w: %s", ErrNoSale, cfg.Address)
	}
	m.Previous = strings.Fields(previous)
	m.Exported, m.Orders = timeOf(optional(exported)), optional(orders)
	return m, nil
}
