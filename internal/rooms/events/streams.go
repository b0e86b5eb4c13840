package events

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mediocregopher/radix/v4"

	"flashsale/internal/background"
	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

// SalesMax is the number of sales whose events are told: the one that goes on and those before it.
const SalesMax = 10

// Streams are the streams of events of sales, and the connections to them.
type Streams struct {
	cfg    redisx.Config
	sales  []string
	list   []*stream // as many of each sale
	slices []*pipeline.Conn
	conns  []*pipeline.Conn // the same, each once
	open   atomic.Bool
}

// stream is a stream of events of a sale: of the orders of a slice, or the log of the sale.
type stream struct {
	sale  string
	name  string // in the ids of events: "0", "1", ... for slices, "log"
	key   string
	redis *pipeline.Conn
}

const logName = "log"

// Join makes the Streams of a sale. Their calls are answered only while Run runs.
func Join(cfg redisx.Config, sale string) *Streams {
	s := &Streams{cfg: cfg}
	byAddress := map[string]*pipeline.Conn{}
	for slice := range cfg.SliceCount() {
		redis := cfg.Slice(slice)
		name := redis.Address + " " + strconv.Itoa(redis.Slot)
		conn := byAddress[name]
		if conn == nil {
			conn = pipeline.New(redis, pipeline.Options{Scripts: scripts, FieldsMax: fieldsMax,
				Fence:  cfg.KeysOf(sale, slice).Fence,
				Outage: &pipeline.Outage{Effect: "events are told later"}})
			byAddress[name] = conn
			s.conns = append(s.conns, conn)
		}
		s.slices = append(s.slices, conn)
	}
	return s.Of(sale)
}

// Of are the streams of some sales, over the same connections.
func (s *Streams) Of(sales ...string) *Streams {
	of := &Streams{cfg: s.cfg, sales: sales, slices: s.slices, conns: s.conns}
	for _, sale := range sales {
		for slice, conn := range s.slices {
			keys := s.cfg.KeysOf(sale, slice)
			if slice == 0 {
				of.list = append(of.list, &stream{sale, logName, keys.Log, conn})
			}
			of.list = append(of.list, &stream{sale, strconv.Itoa(slice), keys.Events, conn})
		}
	}
	return of
}

// known returns the streams of the sale that Redis has now and of those before it, the last one first; of so
// many sales at most.
func (s *Streams) known(most int) (*Streams, error) {
	var sale, previous string
	x := pipeline.Command(&radix.Tuple{&sale, &previous}, "HMGET", redisx.MarkerKey, "id", "previous")
	if err := s.slices[0].Do(x); err != nil {
		return nil, err
	}
	if sale == "" { // Redis has lost it
		sale = s.sales[0]
	}
	sales := append([]string{sale}, strings.Fields(previous)...)
	if sales = sales[:min(len(sales), most)]; slices.Equal(sales, s.sales) {
		return s, nil
	}
	return s.Of(sales...), nil
}

// Run keeps the connections until ctx ends, and returns nil then.
func (s *Streams) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for _, conn := range s.conns {
		running.Go(func() { _ = conn.Run(ctx) }) // nil
	}
	running.Wait()
	return nil
}

// Up reports whether every Redis with a stream is connected.
func (s *Streams) Up() bool {
	for _, conn := range s.conns {
		if !conn.Up() {
			return false
		}
	}
	return true
}

// Open makes the streams of orders, so that orders that are final at once are events from now on. It tries
// until Redis has done it or ctx ends.
func (s *Streams) Open(ctx context.Context) {
	const group = "opening"
	for s.each(func(x *pipeline.Call, i int) { // fails also where another process does the same
		if of := s.list[i]; of.name != logName {
			x.Command(nil, "XGROUP", "CREATE", of.key, group, "$", "MKSTREAM")
			x.Command(nil, "XGROUP", "DESTROY", of.key, group)
		}
	}) != nil {
		if !background.Pause(ctx, redialling) {
			return
		}
	}
	s.open.Store(true)
}

// IsOpen reports whether Open has ended.
func (s *Streams) IsOpen() bool { return s.open.Load() }

// Beside the stream, with its hash tag in the key:
func (s *stream) cutKey() string                  { return s.key + ":cut" }
func (s *stream) placeKey(receiver string) string { return s.key + ":to:" + receiver }
func (s *stream) deadKey(receiver string) string  { return s.placeKey(receiver) + ":dead" }
func (s *stream) leaseKey(receiver string) string { return s.placeKey(receiver) + ":lease" }
