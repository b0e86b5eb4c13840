package traffic

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"flashsale/internal/background"
	"flashsale/redisx/pipeline"
)

const (
	clearBlocks = 50        // that one step removes
	fullPace    = time.Hour // between two log lines that all keys are there
)

// What forget.lua returns.
const (
	keyDeleted = 0
	keyUnknown = 1
	keyStays   = 2
)

// Delete deletes a key with all its hits. Its memory is free when a Keeper has removed its blocks, within
// about a minute. A key that is hit again begins anew. Errors: ErrNoKey, ErrUnavailable of pipeline.
func (t *Traffic) Delete(key string) error {
	id, err := t.identify(key)
	if err != nil {
		return err
	}
	deleted, err := forget(t.redis, id, 0, -1)
	if err == nil && !deleted { // another server was faster
		err = ErrNoKey
	}
	return err
}

// forget deletes a key if there are at least keysMin keys and it has that number of blocks, -1 for any.
func forget(redis *pipeline.Conn, id int64, keysMin, blocks int) (deleted bool, err error) {
	var code int64
	x := forgetScript.Call(&code, []string{namesKey, deletedKey, indexKey(id)}, itoa(id), strconv.Itoa(keysMin),
		strconv.Itoa(blocks))
	if err := redis.Do(x); err != nil {
		return false, err
	}
	switch code {
	case keyDeleted, keyUnknown, keyStays:
		return code == keyDeleted, nil
	}
	return false, fmt.Errorf("forget.lua returned the unknown code %d", code)
}

// age deletes a key that has only blocks of the last tier, if there are as many keys as there may be. A key
// that is hit meanwhile stays: the hit makes a block.
func (k *Keeper) age(id int64, index []int64) error {
	last := k.layout.tiers[len(k.layout.tiers)-1].Step
	for _, member := range index {
		if blockOf(member).step != last {
			return nil
		}
	}
	deleted, err := forget(k.redis, id, k.cfg.KeysMax, len(index))
	if deleted {
		k.aged++
	}
	return err
}

// clear removes the blocks of deleted keys.
func (k *Keeper) clear(ctx context.Context) error {
	for {
		var ids []int64
		x := pipeline.Command(&ids, "SRANDMEMBER", deletedKey, strconv.Itoa(sweepKeys))
		if err := k.redis.Do(x); err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			var left int64
			x := clearScript.Call(&left, []string{deletedKey, indexKey(id)}, itoa(id), strconv.Itoa(clearBlocks))
			if err := k.redis.Do(x); err != nil {
				return err
			}
		}
		if !background.Pause(ctx, sweepPause) {
			return ctx.Err()
		}
	}
}

// Keys returns how many keys there are, and how many there may be. Error: ErrUnavailable of pipeline.
func (k *Keeper) Keys() (keys, most int64, err error) {
	err = k.redis.Do(pipeline.Command(&keys, "ZCARD", namesKey))
	return keys, int64(k.cfg.KeysMax), err
}

// tellFull logs once in a while that there are as many keys as there may be.
func (k *Keeper) tellFull(keys int64, now time.Time) {
	if k.aged > 0 {
		slog.Info("old keys, with hits in the last step of -traffic-retention only, were deleted, because "+
			"the limit of -traffic-keys was reached", "deleted", k.aged)
		k.aged = 0
	}
	if keys < int64(k.cfg.KeysMax) || now.Sub(k.toldFull) < fullPace {
		return
	}
	k.toldFull = now
	slog.Warn("the statistics have all keys of -traffic-keys: hits of further ones are counted under the key "+
		"other. GET /traffic/keys lists them; DELETE /traffic?key=... those that are not needed, or raise "+
		"-traffic-keys", "keys", keys, "max", k.cfg.KeysMax)
}
