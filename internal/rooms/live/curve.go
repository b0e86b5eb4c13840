package live

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// tier is buckets of the curve: the newest ones, in a ring.
type tier struct{ step, places int64 }

// tiers are the buckets of the curve. Each begins where the one before it ends: so the curve has 10
// minutes of seconds, before that an hour, half a day and ten days. README.md has the bytes.
var tiers = [...]tier{{1, 600}, {10, 360}, {120, 360}, {3600, 240}}

const (
	minuteSeconds = 60
	missingMax    = 50 // times without some servers that the history tells of
)

// begin is the second at which the tier's part of the curve begins: with a whole bucket of the next tier.
func (t tier) begin(end int64, next int64) int64 {
	first := end - t.step*(t.places-1)
	return (first + next - 1) / next * next
}

// field is the field of the bucket with a second.
func (t tier) field(second int64) string {
	return fmt.Sprintf("%d:%d", t.step, second/t.step%t.places)
}

// has reports whether the field is of the tier.
func (t tier) has(field string) bool {
	step, _, _ := strings.Cut(field, ":")
	return step == strconv.FormatInt(t.step, 10)
}

// point is a bucket of the curve.
type point struct {
	t                  int64
	orders             int64   // of the sale at its end, or Unknown
	refused            uint64  // public ones
	p99                float64 // ms, 0 without an order
	connections        int64
	servers, serversOf int64
}

func pointOf(s *sums) point {
	p99, ok := s.quantile(0.99)
	if !ok {
		p99 = 0
	}
	return point{s.t, s.orders, s.refusals(), p99, s.connections, s.servers, s.serversOf}
}

// curve is the buckets of all tiers, as they were read last, with the whole sale.
type curve struct {
	rings [len(tiers)][]point
	end   int64 // the last second
	all   sums
}

func newCurve() *curve {
	c := &curve{all: parseSums("")}
	for i, t := range tiers {
		c.rings[i] = make([]point, t.places)
	}
	return c
}

// put takes a bucket.
func (c *curve) put(tier int, s *sums) {
	if s.t == 0 {
		return
	}
	t := tiers[tier]
	c.rings[tier][s.t/t.step%t.places] = pointOf(s)
	if tier == 0 {
		c.end = max(c.end, s.t)
	}
}

// part is the buckets of a tier in the history, as lists. Orders are null for a bucket without figures.
type part struct {
	Step        int64           `json:"step"`
	From        int64           `json:"from"`
	Orders      json.RawMessage `json:"orders"`
	Refused     json.RawMessage `json:"refused"`
	P99         json.RawMessage `json:"p99_ms"`
	Connections json.RawMessage `json:"connections"`
}

// missing is a time in which servers were away.
type missing struct{ from, to, servers, of int64 }

func (m missing) MarshalJSON() ([]byte, error) {
	return list([]int64{m.from, m.to, m.servers, m.of}), nil
}

// past is the data of the history event.
type past struct {
	Before  int64             `json:"before"`
	Peak    int64             `json:"peak"`
	Refused map[string]uint64 `json:"refused"`
	Minute  []refusals        `json:"last_minute"`
	Parts   []part            `json:"parts"`
	Missing []missing         `json:"missing"`
	Marks   []Mark            `json:"marks"`
}

// refusals are those of a second by code.
type refusals struct {
	Second  int64             `json:"t"`
	Refused map[string]uint64 `json:"refused"`
}

// past is the curve. atMost is the number of tiers that it shows, the finest first.
func (c *curve) past(atMost int) *past {
	p := &past{Before: c.all.before, Peak: c.all.peak, Refused: only(true, c.all.refused),
		Parts: []part{}, Missing: []missing{}}
	if c.end == 0 {
		return p
	}
	var begins [len(tiers)]int64
	top := 0
	for i, t := range tiers[:atMost] {
		next := t.step
		if i+1 < len(tiers) {
			next = tiers[i+1].step
		}
		top, begins[i] = i, t.begin(c.end, next)
		if begins[i] <= c.all.since {
			begins[i] = c.all.since / t.step * t.step
			break
		}
	}
	orders := int64(Unknown)
	for i := top; i >= 0; i-- {
		to := c.end + 1
		if i > 0 {
			to = begins[i-1]
		}
		p.Parts = append(p.Parts, c.part(p, i, begins[i], to, &orders))
	}
	return p
}

// part is the buckets of a tier. orders is how many the sale had at the last known bucket.
func (c *curve) part(p *past, tier int, from, to int64, orders *int64) part {
	t := tiers[tier]
	var columns [4][]byte
	for at := from; at < to; at += t.step {
		b := &c.rings[tier][at/t.step%t.places]
		if b.t != at {
			columns[0] = append(columns[0], ",null"...)
			for i := range columns[1:] {
				columns[1+i] = append(columns[1+i], ",0"...)
			}
			continue
		}
		if b.orders != Unknown && *orders == Unknown { // the curve begins
			if p.Before = b.orders; c.all.since >= at {
				p.Before = c.all.before
			}
			*orders = p.Before
		}
		placed := max(b.orders-*orders, 0)
		*orders = max(*orders, b.orders)
		columns[0] = strconv.AppendInt(append(columns[0], ','), placed, 10)
		columns[1] = strconv.AppendUint(append(columns[1], ','), b.refused, 10)
		columns[2] = strconv.AppendFloat(append(columns[2], ','), short(b.p99), 'f', -1, 64)
		columns[3] = strconv.AppendInt(append(columns[3], ','), b.connections, 10)
		if b.servers < b.serversOf {
			p.miss(missing{at, at + t.step, b.servers, b.serversOf})
		}
	}
	for i := range columns { // a bracket in place of the first comma
		columns[i] = append(columns[i], ']')
		columns[i][0] = '['
	}
	return part{t.step, from, columns[0], columns[1], columns[2], columns[3]}
}

// miss notes a time in which servers were away.
func (p *past) miss(m missing) {
	if n := len(p.Missing); n > 0 {
		if last := &p.Missing[n-1]; last.to == m.from && last.servers == m.servers && last.of == m.of {
			last.to = m.to
			return
		}
	}
	if p.Missing = append(p.Missing, m); len(p.Missing) > missingMax {
		p.Missing = p.Missing[1:]
	}
}

// short has two digits behind the point, or none: more would be longer, and no truer.
func short(ms float64) float64 {
	if ms >= 100 {
		return math.Round(ms)
	}
	return math.Round(ms*100) / 100
}
