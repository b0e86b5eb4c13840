package live

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"flashsale/internal/observe/figures"
)

// timedCall is the call that p50_ms and p99_ms are of.
const timedCall = "POST /orders"

// Unknown stands for the orders of the sale where no worker knows them.
const Unknown = -1

// sums are figures of a time, of this server or of all together. write.lua describes their text.
type sums struct {
	t           int64 // the first second, Unix time; 0 for no time
	orders      int64 // of the sale at the end, or Unknown
	peak        int64
	connections int64
	servers     int64 // that are in it
	serversOf   int64 // that should be
	since       int64 // of the whole sale: its first second
	before      int64 // of the whole sale: the orders at that

	refused map[string]uint64 // error replies by code
	times   [len(figures.DurationBounds) + 1]uint64
}

// parseSums reads the text of write.lua.
func parseSums(text string) sums {
	s := sums{orders: Unknown, refused: map[string]uint64{}}
	named := map[string]*int64{"t": &s.t, "orders": &s.orders, "peak": &s.peak, "connections": &s.connections,
		"servers": &s.servers, "servers_of": &s.serversOf, "since": &s.since, "before": &s.before}
	for field := range strings.FieldsSeq(text) {
		name, digits, _ := strings.Cut(field, "=")
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			continue // only write.lua writes here
		}
		if known := named[name]; known != nil {
			*known = n
		} else if bucket, err := strconv.Atoi(name); err == nil && bucket >= 0 && bucket < len(s.times) {
			s.times[bucket] = uint64(n)
		} else {
			s.refused[name] = uint64(n)
		}
	}
	return s
}

// counted is the text of what a server has counted.
func (s *sums) counted() string {
	var text []byte
	field := func(name string, n uint64) {
		if n > 0 {
			text = append(append(append(text, name...), '='), strconv.FormatUint(n, 10)...)
			text = append(text, ' ')
		}
	}
	for _, code := range slices.Sorted(maps.Keys(s.refused)) {
		field(code, s.refused[code])
	}
	for bucket, n := range s.times {
		field(strconv.Itoa(bucket), n)
	}
	return string(text)
}

// add adds the refusals and the times of others.
func (s *sums) add(other *sums) {
	for code, n := range other.refused {
		s.refused[code] += n
	}
	for bucket, n := range other.times {
		s.times[bucket] += n
	}
}

// less is what has come since an earlier reading.
func (s *sums) less(earlier *sums) sums {
	rest := sums{refused: map[string]uint64{}}
	for code, n := range s.refused {
		if n > earlier.refused[code] {
			rest.refused[code] = n - earlier.refused[code]
		}
	}
	for bucket := range s.times {
		rest.times[bucket] = s.times[bucket] - earlier.times[bucket]
	}
	return rest
}

// refusals is the number of all public refusals.
func (s *sums) refusals() (all uint64) {
	for _, n := range only(true, s.refused) {
		all += n
	}
	return all
}

// quantile is the time in milliseconds below which this share of the calls lies. ok is false without a call.
func (s *sums) quantile(share float64) (ms float64, ok bool) {
	h := figures.Histogram{Bounds: figures.DurationBounds[:]}
	for bucket, n := range s.times {
		h.Count += n
		h.Cumulative[bucket] = h.Count
	}
	value, ok := h.Quantile(share)
	return value / 1e6, ok
}

// ownSums is what this server has counted since its start, and how many orders it has placed. The orders of
// the sale are those that a worker of the sale knows.
func ownSums(memory *figures.Memory, sale string) (s sums, placed uint64) {
	s = sums{orders: Unknown, refused: map[string]uint64{}, servers: 1, serversOf: 1,
		connections: int64(figures.Sum(figures.Connections.Read(memory)))}
	for code, n := range figures.By(figures.ErrorReplies.Read(memory)) {
		s.refused[code] = uint64(n)
	}
	times := memory.TimesOf(timedCall)
	var below uint64
	for bucket, n := range times.Cumulative {
		s.times[bucket], below = n-below, n
	}
	number := figures.SaleNumber(sale)
	for slot := range memory.Slots() {
		for _, g := range memory.Running(slot) {
			if g.Sale.Value() == number {
				s.orders = max(s.orders, g.SaleOrders.Value())
			}
		}
	}
	return s, uint64(figures.Sum(figures.OrdersPlaced.Read(memory)))
}
