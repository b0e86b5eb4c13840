package traffic

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/internal/background"
	"flashsale/redisx/pipeline"
)

const (
	keepInterval = time.Minute           // between two sweeps
	keepRetry    = time.Second           // where Redis did not answer
	sweepPause   = 10 * time.Millisecond // between two steps of a sweep
	sweepKeys    = 50                    // of one step

	slotOpen  = 2    // slots before the current one that still take hits
	slotKeys  = 1000 // that stay of a slot that is closed
	trimKeys  = 1000 // that one step removes
	slotsKept = 300  // a day of slots, and some more
)

// Keeper adds up old buckets. A server needs one Keeper. The Keepers of one Redis share the work, and two of
// them may do the same.
type Keeper struct {
	cfg    Config
	layout *layout
	redis  *pipeline.Conn

	toldFull time.Time // of the last log line that all keys are there
	aged     int       // keys that were deleted and not logged yet
}

// NewKeeper makes a Keeper.
func NewKeeper(cfg Config) *Keeper {
	redis := pipeline.New(cfg.Redis, pipeline.Options{
		Scripts: []*pipeline.Script{advanceScript, sweptScript, trimScript, rollScript, forgetScript, clearScript},
		Outage:  &pipeline.Outage{Effect: "old statistics are not added up"},
	})
	return &Keeper{cfg: cfg, layout: newLayout(cfg.Tiers, cfg.Zone), redis: redis}
}

// Run works until ctx ends, and returns nil then. Steps that are left are done later, by any server.
func (k *Keeper) Run(ctx context.Context) error {
	background.Beside(k.redis.Run, func() {
		background.Repeat(ctx, func() (pause time.Duration) {
			if err := k.keep(ctx); err != nil {
				return keepRetry
			}
			return keepInterval
		})
	})
	return nil
}

// keep moves the frontiers and does all that is due. The connection has logged its errors.
func (k *Keeper) keep(ctx context.Context) error {
	now, err := redisTime(k.redis, k.cfg.Now)
	if err != nil {
		return err
	}
	if err := k.trim(ctx, now); err != nil {
		return err
	}
	if err := k.clear(ctx); err != nil {
		return err
	}
	cursor, keys, err := k.advance(now)
	if err == nil && cursor == otherLayout {
		slog.Error("old statistics are not added up: another server of this Redis has another "+
			"-traffic-retention or -traffic-tz; give all the same. To change them stop all servers first",
			"this", k.describe())
	}
	for err == nil && cursor >= 0 && background.Pause(ctx, sweepPause) {
		cursor, err = k.sweep(cursor)
	}
	k.tellFull(keys-int64(k.aged), now)
	return err
}

// redisTime returns the time of Redis, which all servers share, or that of a clock.
func redisTime(redis *pipeline.Conn, clock func() time.Time) (time.Time, error) {
	if clock != nil {
		return clock(), nil
	}
	var seconds, microseconds int64
	err := redis.Do(pipeline.Command(&radix.Tuple{&seconds, &microseconds}, "TIME"))
	return time.Unix(seconds, microseconds*1000), err
}

// otherLayout stands for the cursor in the reply of advance.lua while other servers have other tiers.
const otherLayout = -2

// describe writes the tiers and the time zone, which all servers of a Redis must have in common.
func (k *Keeper) describe() string { return fmt.Sprintf("%v %v", k.cfg.Tiers, k.cfg.Zone) }

// advance moves the frontiers. cursor is the last key that is swept, -1 when all keys are, or otherLayout.
// keys is the number of keys.
func (k *Keeper) advance(now time.Time) (cursor, keys int64, err error) {
	args := []string{k.describe(), itoa(now.Unix()), strconv.Itoa(k.cfg.KeysMax)}
	for _, tier := range k.layout.tiers[:len(k.layout.tiers)-1] {
		args = append(args, strconv.Itoa(int(tier.Step)), itoa(k.layout.frontier(tier, now)))
	}
	x := advanceScript.Call(&radix.Tuple{&cursor, &keys}, []string{stateKey, namesKey}, args...)
	err = k.redis.Do(x)
	return cursor, keys, err
}

// sweep adds up the blocks that are due of some keys behind the cursor, and moves the cursor. If there are
// too many keys it deletes the old ones among them.
func (k *Keeper) sweep(cursor int64) (next int64, err error) {
	count, keys, err := readKeys(k.redis, cursor, sweepKeys)
	if err != nil {
		return 0, err
	}
	full := count >= int64(k.cfg.KeysMax) && len(k.layout.tiers) > 1
	last := int64(-1)
	for _, key := range keys {
		index, err := k.slim(key.id)
		if err == nil && full {
			err = k.age(key.id, index)
		}
		if err != nil {
			return 0, err
		}
	}
	if len(keys) == sweepKeys {
		last = keys[len(keys)-1].id
	}
	err = k.redis.Do(sweptScript.Call(&next, []string{stateKey}, itoa(cursor), itoa(last)))
	return next, err
}

// slim adds up all blocks of a key that are due, also the blocks of the next tier that become due by this.
// It returns the index that is left.
func (k *Keeper) slim(id int64) (index []int64, err error) {
	for range len(k.layout.tiers) + 1 {
		var f frontiers
		if index, f, err = readIndex(k.redis, id); err != nil {
			return nil, err
		}
		due := k.layout.due(index, f)
		if len(due) == 0 {
			break
		}
		if err := k.layout.rollSome(k.redis, id, due); err != nil {
			return nil, err
		}
	}
	return index, nil
}

// readIndex reads the index of a key, and the frontiers.
func readIndex(redis *pipeline.Conn, id int64) (index []int64, f frontiers, err error) {
	var state map[string]string
	x := pipeline.Command(&state, "HGETALL", stateKey).Command(&index, "SMEMBERS", indexKey(id))
	err = redis.Do(x)
	return index, readFrontiers(state), err
}

// trim closes slots of the most-hit keys and keeps the best of them.
func (k *Keeper) trim(ctx context.Context, now time.Time) error {
	var first string
	if err := k.redis.Do(pipeline.Command(&first, "HGET", stateKey, "top")); err != nil {
		return err
	}
	last := slotOf(now) - slotOpen - 1
	slot, _ := strconv.ParseInt(first, 10, 64) // 0 if it is missing
	if slot == 0 {
		slot = last
	}
	for slot = max(slot, last-slotsKept); slot <= last && ctx.Err() == nil; {
		var left int64
		x := trimScript.Call(&left, []string{stateKey, topPrefix + itoa(slot)}, itoa(slot),
			strconv.Itoa(slotKeys), strconv.Itoa(trimKeys))
		if err := k.redis.Do(x); err != nil {
			return err
		}
		if left > 0 {
			background.Pause(ctx, sweepPause)
		} else {
			slot++
		}
	}
	return nil
}

// slotOf is the slot of the most-hit keys that a time is in.
func slotOf(t time.Time) int64 { return t.Unix() / 60 / slotMinutes }
