package traffic

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"flashsale/redisx/pipeline"
)

const (
	listMax   = 1000 // keys that one answer lists
	listChunk = 10   // keys of one pipeline: orders may wait in the same Redis
)

// List is some keys, ordered by their first hit.
type List struct {
	Count int64       `json:"count"` // of all keys
	Max   int         `json:"max"`
	Next  int64       `json:"next,omitempty"` // where the list goes on; 0 at its end
	Keys  []ListedKey `json:"keys"`
}

// ListedKey is a key and when it was hit last.
type ListedKey struct {
	Key string `json:"key"`
	// LastHit is the start of its last bucket; nil where it is being added up.
	LastHit *time.Time `json:"last_hit"`

	id int64
}

// Keys lists up to n keys after the Next of the list before, or from the first key on if after is 0. Errors:
// ErrBadRange, ErrUnavailable of pipeline.
func (t *Traffic) Keys(after int64, n int) (*List, error) {
	if after < 0 || n < 1 || n > listMax {
		return nil, fmt.Errorf("%w: up to %d keys are listed, behind number 0 or higher", ErrBadRange, listMax)
	}
	list := &List{Max: t.cfg.KeysMax}
	var err error
	if list.Count, list.Keys, err = readKeys(t.redis, after, n); err != nil {
		return nil, err
	}
	if len(list.Keys) == n {
		list.Next = list.Keys[n-1].id
	}
	for some := range slices.Chunk(list.Keys, listChunk) {
		if err := t.date(some); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// readKeys reads up to n keys with ids over a number, the lowest first, and how many there are in all.
func readKeys(redis *pipeline.Conn, after int64, n int) (count int64, keys []ListedKey, err error) {
	var texts []string
	x := pipeline.Command(&count, "ZCARD", namesKey)
	x.Command(&texts, "ZRANGEBYSCORE", namesKey, "("+itoa(after), "+inf", "WITHSCORES", "LIMIT", "0",
		strconv.Itoa(n))
	if err := redis.Do(x); err != nil {
		return 0, nil, err
	}
	keys = []ListedKey{}
	for i := 0; i+1 < len(texts); i += 2 {
		id, err := strconv.ParseInt(texts[i+1], 10, 64)
		if err != nil {
			return 0, nil, fmt.Errorf("cannot read the id of a key: %w", err)
		}
		keys = append(keys, ListedKey{Key: texts[i], id: id})
	}
	return count, keys, nil
}

// date finds out when keys were hit last.
func (t *Traffic) date(keys []ListedKey) error {
	indexes, fields := make([][]int64, len(keys)), make([][]int64, len(keys))
	newest := make([]block, len(keys))
	x := pipeline.NewCall()
	for i := range keys {
		x.Command(&indexes[i], "SMEMBERS", indexKey(keys[i].id))
	}
	if err := t.redis.Do(x); err != nil {
		return err
	}
	x = pipeline.NewCall()
	for i, index := range indexes {
		for j, member := range index { // newer hits are in a shorter step
			b := blockOf(member)
			if j == 0 || b.step < newest[i].step || b.step == newest[i].step && b.number > newest[i].number {
				newest[i] = b
			}
		}
		x.Command(&fields[i], "HKEYS", blockKey(keys[i].id, newest[i]))
	}
	if err := t.redis.Do(x); err != nil {
		return err
	}
	for i, list := range fields {
		if len(list) > 0 {
			b := newest[i]
			start := t.layout.grids[b.step].start(b.number*blockBuckets + slices.Max(list)).UTC()
			keys[i].LastHit = &start
		}
	}
	return nil
}
