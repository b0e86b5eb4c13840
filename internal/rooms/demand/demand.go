// Package demand counts the demand that a sale refuses: orders that found too few pieces, by food. Each
// worker counts in memory and adds its counts to one hash of the sale every second, off the order path.
//
// It counts refusals, not people: who tries three times counts three times. Only a refusal that names its
// foods counts for them (POST /orders?details=1, as the page asks); the others are counted together: to look
// into each cart would cost the sale a round trip. A count that Redis did not answer for is dropped, so that
// none counts twice. So is one that a process has not flushed when it is killed.
package demand

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"flashsale/internal/background"
	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

// HashTag is in the key of the room. There is one for each sale:
//
//	demand:{d}:<sale>  hash  "o" food id -> orders refused,   400 days after the last refusal
//	                         "p" food id -> pieces of it that
//	                         they wanted, "all" -> orders,
//	                         "other" -> those without named
//	                         foods
const HashTag = "{d}"

const (
	prefix       = "demand:" + HashTag + ":"
	ordersPrefix = "o"
	piecesPrefix = "p"
	allField     = "all"
	otherField   = "other"

	keptFor  = 400 * 24 * time.Hour
	interval = time.Second

	foodsMax = 10_000 // foods that are counted one by one; further ones count as other
	sentMax  = 500    // foods in one flush; the others wait for the next
)

// Config is what the room needs.
type Config struct {
	Redis pipeline.Config // see redisx.Config.Room
	Sale  string
	Foods int // of the sale
}

// Demand is the room in one process. A nil Demand counts nothing.
type Demand struct {
	cfg   Config
	redis *pipeline.Conn
	foods []counts // of food 1, 2, 3, ...
	all   atomic.Int64
	other atomic.Int64
	next  int // the first food of the next flush
}

// counts are those since the last flush.
type counts struct{ orders, pieces atomic.Int64 }

// New makes a Demand. Its connection exists while Run runs.
func New(cfg Config) *Demand {
	return &Demand{cfg: cfg, foods: make([]counts, min(cfg.Foods, foodsMax)),
		redis: pipeline.New(cfg.Redis, pipeline.Options{
			Outage: &pipeline.Outage{Effect: "refused demand is not counted"}})}
}

// Refused counts an order that was refused because the sale lacks pieces of these foods; none: the foods are
// not known. It neither waits nor allocates.
func (d *Demand) Refused(lacks []redisx.Lack) {
	if d == nil {
		return
	}
	d.all.Add(1)
	known := false
	for _, lack := range lacks {
		if i := lack.Food - 1; i >= 0 && i < int64(len(d.foods)) {
			d.foods[i].orders.Add(1)
			d.foods[i].pieces.Add(lack.Wanted)
			known = true
		}
	}
	if !known {
		d.other.Add(1)
	}
}

// Run flushes until ctx ends, and once more after that. It returns nil.
func (d *Demand) Run(ctx context.Context) error {
	background.Beside(d.redis.Run, func() {
		background.Every(ctx, interval, d.flush)
		d.flush()
	})
	return nil
}

// Up reports whether Redis can be reached.
func (d *Demand) Up() bool { return d.redis.Up() }

// flush adds the counts to those of the sale.
func (d *Demand) flush() {
	key := prefix + d.cfg.Sale
	x, sent := pipeline.NewCall(), 0
	add := func(field string, n int64) {
		x.Command(nil, "HINCRBY", key, field, strconv.FormatInt(n, 10))
		sent++
	}
	if n := d.all.Swap(0); n > 0 {
		add(allField, n)
	}
	if n := d.other.Swap(0); n > 0 {
		add(otherField, n)
	}
	for range d.foods {
		if sent >= 2*sentMax {
			break
		}
		c, id := &d.foods[d.next], strconv.Itoa(d.next+1)
		d.next = (d.next + 1) % len(d.foods)
		if n := c.orders.Swap(0); n > 0 {
			add(ordersPrefix+id, n)
			add(piecesPrefix+id, c.pieces.Swap(0))
		}
	}
	if sent == 0 {
		x.Free()
		return
	}
	x.Command(nil, "EXPIRE", key, strconv.Itoa(int(keptFor/time.Second)))
	_ = d.redis.Do(x) // the connection logs that Redis is away
}

// Refusals are the refused orders of a sale so far, to the last second.
type Refusals struct {
	Orders, Pieces map[int64]int64 // by food; one order may lack several foods
	All            int64           // orders
	Other          int64           // those of which the foods are not known
}

// Read returns the refusals of the sale. Error: pipeline.ErrUnavailable.
func (d *Demand) Read() (Refusals, error) {
	var fields map[string]string
	if err := d.redis.Do(pipeline.Command(&fields, "HGETALL", prefix+d.cfg.Sale)); err != nil {
		return Refusals{}, err
	}
	r := Refusals{Orders: map[int64]int64{}, Pieces: map[int64]int64{}}
	for field, text := range fields {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || field == "" {
			continue // only flush writes here
		}
		food, _ := strconv.ParseInt(field[1:], 10, 64)
		switch {
		case field == allField:
			r.All = n
		case field == otherField:
			r.Other = n
		case field[:1] == ordersPrefix:
			r.Orders[food] = n
		case field[:1] == piecesPrefix:
			r.Pieces[food] = n
		}
	}
	return r, nil
}
