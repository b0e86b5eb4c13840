package traffic

import (
	"slices"
	"strconv"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

const (
	readAttempts = 20 // while a Keeper adds up blocks of the same key
	readRolls    = 64 // blocks that a read adds up, at most
)

// Curve is the hits of a key in a range of time.
type Curve struct {
	Key    string    `json:"key"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Zone   string    `json:"tz"`
	Step   string    `json:"step"`
	Data   string    `json:"data_step"` // the longest step in which hits of the range are stored
	Total  int64     `json:"total"`
	Points []Point   `json:"points"`
}

// Point is the hits of one step.
type Point struct {
	At      time.Time `json:"at"`
	Hits    *int64    `json:"hits"`              // nil where there is no data: before the first hit, in the
	Partial bool      `json:"partial,omitempty"` // future, or where only longer steps are stored

	// Approximate marks a point that begins or ends within a bucket: some of its hits may belong to a
	// neighbour.
	Approximate bool `json:"approximate,omitempty"`
}

// Query returns the hits of a key. A bucket belongs to the range, and to the point, in which it starts; so
// the totals of two ranges add up to that of both together. Errors: ErrNoKey, ErrBadRange, ErrUnavailable of
// pipeline.
func (t *Traffic) Query(q Query) (*Curve, error) {
	id, err := t.identify(q.Key)
	if err != nil {
		return nil, err
	}
	now, err := redisTime(t.redis, t.cfg.Now)
	if err != nil {
		return nil, err
	}
	w, err := q.window(now)
	if err != nil {
		return nil, err
	}
	stored, f, err := t.read(id, w.from, w.to)
	if err == nil && len(stored) == 0 { // a key has a block at least, until it is deleted
		err = ErrNoKey
	}
	if err != nil {
		return nil, err
	}
	curve := t.draw(w, stored, f, now)
	curve.Key = q.Key
	return curve, nil
}

// identify returns the id of a key. Errors: ErrNoKey, ErrUnavailable of pipeline.
func (t *Traffic) identify(key string) (id int64, err error) {
	var text string
	err = t.redis.Do(pipeline.Command(&radix.Maybe{Rcv: &text}, "ZSCORE", namesKey, key))
	if err == nil && text == "" {
		err = ErrNoKey
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// buckets is the hits of a block by bucket: pairs of field and hits.
type buckets struct {
	block
	pairs []int64
}

// read returns the blocks of a key that overlap a range, and the oldest block of each step. It first adds up
// the blocks that are due. No block was added up between the first and the last read: the index is read
// before and after them, and would have changed.
func (t *Traffic) read(id int64, from, to time.Time) (stored []buckets, f frontiers, err error) {
	rolls := readRolls
	for range readAttempts {
		var index, after []int64
		if index, f, err = readIndex(t.redis, id); err != nil {
			return nil, f, err
		}
		due := t.layout.due(index, f)
		if n := min(len(due), rolls); n > 0 {
			rolls -= n
			if err = t.layout.rollSome(t.redis, id, due[:n]); err != nil {
				return nil, f, err
			}
			continue
		}
		stored = t.wanted(index, from, to)
		x := pipeline.NewCall()
		for i := range stored {
			x.Command(&stored[i].pairs, "HGETALL", blockKey(id, stored[i].block))
		}
		if err = t.redis.Do(x.Command(&after, "SMEMBERS", indexKey(id))); err != nil {
			return nil, f, err
		}
		slices.Sort(after)
		if slices.Equal(index, after) {
			return stored, f, nil
		}
	}
	return nil, f, pipeline.ErrUnavailable
}

// wanted are the blocks of an index that overlap a range, and the oldest of each step.
func (t *Traffic) wanted(index []int64, from, to time.Time) (list []buckets) {
	slices.Sort(index)
	var seen [stepCodes]bool
	for _, member := range index {
		b := blockOf(member)
		start, end := t.layout.bounds(b)
		if !seen[b.step] || start.Before(to) && from.Before(end) {
			list = append(list, buckets{block: b})
		}
		seen[b.step] = true
	}
	return list
}

// draw makes the curve of the stored buckets.
func (t *Traffic) draw(w window, stored []buckets, f frontiers, now time.Time) *Curve {
	hits := make([]int64, w.last-w.first+1)
	c := &Curve{From: w.from.In(w.grid.zone), To: w.to.In(w.grid.zone), Zone: w.grid.zone.String(),
		Step: w.grid.step.String()}
	longest, oldest := t.layout.tiers[0].Step, now
	for _, b := range stored {
		for i := 0; i+1 < len(b.pairs); i += 2 {
			start := t.layout.grids[b.step].start(b.number*blockBuckets + b.pairs[i])
			if start.Before(oldest) {
				oldest = start
			}
			if start.Before(w.from) || !start.Before(w.to) {
				continue
			}
			c.Total += b.pairs[i+1]
			hits[w.grid.number(start)-w.first] += b.pairs[i+1]
			longest = max(longest, b.step)
		}
	}
	c.Data = longest.String()
	for i := range hits {
		c.Points = append(c.Points, t.point(w, w.first+int64(i), &hits[i], f, oldest, now))
	}
	return c
}

// point makes a point of its hits.
func (t *Traffic) point(w window, number int64, hits *int64, f frontiers, oldest, now time.Time) Point {
	start, end := w.grid.start(number), w.grid.start(number+1)
	if start.Before(w.from) {
		start = w.from
	}
	if w.to.Before(end) {
		end = w.to
	}
	p := Point{At: start.In(w.grid.zone), Hits: hits, Partial: !now.Before(start) && now.Before(end)}
	if *hits == 0 && (!end.After(oldest) || start.After(now) || !t.tells(start, end, f)) {
		p.Hits = nil
	}
	// After now there is nothing to cut.
	p.Approximate = p.Hits != nil && (t.layout.cuts(start, f) || !end.After(now) && t.layout.cuts(end, f))
	return p
}

// tells reports whether buckets of the tier that has the point's time begin within the point. If they do
// not, a longer bucket may cover this point and others, so that a point without hits tells nothing.
func (t *Traffic) tells(start, end time.Time, f frontiers) bool {
	for _, tier := range t.layout.tiers {
		g := t.layout.grids[tier.Step]
		number := g.number(start)
		if tier.Keep == (Span{}) || number >= f[tier.Step] {
			return g.start(number).Equal(start) || g.start(number+1).Before(end)
		}
	}
	return true
}
