package traffic

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"flashsale/redisx/pipeline"
)

const (
	topMax     = 100            // keys that an answer names
	topLongest = 24 * time.Hour // the longest range: slots live a little longer
	slotBest   = topMax         // keys that are read of each slot
)

// Top is the most-hit keys of the last time.
type Top struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	Keys []TopKey  `json:"keys"`
	// No key that is not listed has more hits than this. It is larger than their hits if keys are hit in every
	// slot and are never among the best.
	OthersMax int64 `json:"others_at_most"`
}

// TopKey is a key and its hits.
type TopKey struct {
	Key  string `json:"key"`
	Hits int64  `json:"hits"`
}

// candidate is a key that is among the best of some slots.
type candidate struct {
	key  string
	hits int64 // in these slots
	most int64 // its hits in all slots are no more
}

// Top returns the n most-hit keys of the last time, in slots of five minutes. The work does not depend on
// the number of keys: the best of each slot are the candidates, and 2n of them are counted. Errors:
// ErrBadRange, ErrUnavailable of pipeline.
func (t *Traffic) Top(last Span, n int) (*Top, error) {
	now, err := redisTime(t.redis, t.cfg.Now)
	if err != nil {
		return nil, err
	}
	from := last.before(now, time.UTC)
	if now.Sub(from) > topLongest || n < 1 || n > topMax {
		return nil, fmt.Errorf("%w: the most-hit keys are known of at most %v, and %d of them", ErrBadRange,
			topLongest, topMax)
	}
	first := slotOf(from)
	top := &Top{From: slotStart(first), To: slotStart(slotOf(now) + 1)}
	candidates, othersMax, err := t.candidates(first, slotOf(now))
	if err != nil {
		return nil, err
	}
	top.OthersMax = othersMax
	for _, c := range candidates[min(2*n, len(candidates)):] {
		top.OthersMax = max(top.OthersMax, c.most)
	}
	if top.Keys, err = t.countAll(candidates[:min(2*n, len(candidates))], top.From, top.To); err != nil {
		return nil, err
	}
	for _, k := range top.Keys[min(n, len(top.Keys)):] {
		top.OthersMax = max(top.OthersMax, k.Hits)
	}
	top.Keys = top.Keys[:min(n, len(top.Keys))]
	return top, nil
}

func slotStart(slot int64) time.Time { return time.Unix(slot*slotMinutes*60, 0).UTC() }

// candidates returns the best keys of some slots, the key with most hits first. No other key has more than
// others hits: in each slot at most as many as the last of the best.
func (t *Traffic) candidates(first, last int64) (list []candidate, others int64, err error) {
	slots := make([][]string, last-first+1)
	x := pipeline.NewCall()
	for i := range slots {
		x.Command(&slots[i], "ZREVRANGE", topPrefix+itoa(first+int64(i)), "0", strconv.Itoa(slotBest-1),
			"WITHSCORES")
	}
	if err := t.redis.Do(x); err != nil {
		return nil, 0, err
	}
	known := map[string]*candidate{}
	for _, slot := range slots {
		best, err := readScores(slot)
		if err != nil {
			return nil, 0, err
		}
		least := int64(0)
		if len(best) == slotBest {
			least = best[slotBest-1].hits
		}
		for _, one := range best {
			c := known[one.key]
			if c == nil {
				c = &candidate{key: one.key}
				known[one.key] = c
			}
			c.hits += one.hits
			c.most += one.hits - least
		}
		others += least
	}
	for _, c := range known {
		c.most += others
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.hits, a.hits), strings.Compare(a.key, b.key))
	})
	return list, others, nil
}

// readScores reads keys and their hits.
func readScores(texts []string) (list []candidate, err error) {
	for i := 0; i+1 < len(texts); i += 2 {
		hits, err := strconv.ParseFloat(texts[i+1], 64)
		if err != nil {
			return nil, fmt.Errorf("cannot read the hits of a slot: %w", err)
		}
		list = append(list, candidate{key: texts[i], hits: int64(hits)})
	}
	return list, nil
}

// countAll counts the hits of the candidates, the key with most hits first. It leaves out candidates that
// have no hits in the range, or were deleted.
func (t *Traffic) countAll(list []candidate, from, to time.Time) ([]TopKey, error) {
	keys := []TopKey{}
	for _, c := range list {
		id, err := t.identify(c.key)
		if errors.Is(err, ErrNoKey) {
			continue // it was deleted
		}
		if err != nil {
			return nil, err
		}
		stored, _, err := t.read(id, from, to)
		if err != nil {
			return nil, err
		}
		if hits := t.layout.sum(stored, from, to); hits > 0 {
			keys = append(keys, TopKey{c.key, hits})
		}
	}
	slices.SortFunc(keys, func(a, b TopKey) int {
		return cmp.Or(cmp.Compare(b.Hits, a.Hits), strings.Compare(a.Key, b.Key))
	})
	return keys, nil
}

// sum adds up the hits of all buckets that start in a range.
func (l *layout) sum(stored []buckets, from, to time.Time) (hits int64) {
	for _, b := range stored {
		for i := 0; i+1 < len(b.pairs); i += 2 {
			start := l.grids[b.step].start(b.number*blockBuckets + b.pairs[i])
			if !start.Before(from) && start.Before(to) {
				hits += b.pairs[i+1]
			}
		}
	}
	return hits
}
