package accounts

import (
	"context"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/internal/background"
	"flashsale/redisx/pipeline"
)

const (
	endedMax    = 200_000 // users whose tokens of before may still be valid
	endedShards = 256
	endedPage   = 1000
	hearPace    = 250 * time.Millisecond // between two questions for ended tokens
	hearFirst   = 10 * time.Millisecond  // until Redis has answered once
	hearAgain   = 2 * time.Second        // how far back they ask: entries may come in another order
	sweepEach   = time.Minute
	skewMax     = 2 * time.Second // that EndTokens waits at most
	tooManyEnds = 0               // what end.lua returns
)

// ended knows the users who have logged out everywhere: for each the last second in which a token of before
// expires. A token tells when it expires, not when it was minted. Users are spread over many small maps,
// which are replaced, not changed: a reader needs one load and one lookup.
type ended struct {
	ttl    time.Duration
	shards [endedShards]atomic.Pointer[map[uint32]int64]

	mu    sync.Mutex // of writers
	heard float64    // the latest end that Redis told, Unix milliseconds
}

// IsEnded reports whether a token of this user that expires then (Unix seconds) has ended before.
func (a *Accounts) IsEnded(user uint32, expires int64) bool {
	shard := a.ended.shards[user%endedShards].Load()
	return shard != nil && expires <= (*shard)[user]
}

// last is when the last token expires that was minted in the second of an end.
func (e *ended) last(end int64) (expires int64) {
	return time.Unix(end/1000+1, 0).Add(e.ttl - 1).Unix()
}

// add notes the ends of some users, in Unix milliseconds.
func (e *ended) add(ends map[uint32]int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	fresh := map[uint32]map[uint32]int64{}
	for user, end := range ends {
		expires := e.last(end)
		shard := fresh[user%endedShards]
		if shard == nil {
			shard = map[uint32]int64{}
			if old := e.shards[user%endedShards].Load(); old != nil {
				if (*old)[user] >= expires { // known
					continue
				}
				maps.Copy(shard, *old)
			}
			fresh[user%endedShards] = shard
		}
		shard[user] = max(shard[user], expires)
	}
	for i, shard := range fresh {
		e.shards[i].Store(&shard)
	}
}

// sweep forgets users whose tokens of before have expired.
func (e *ended) sweep(now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.shards {
		old := e.shards[i].Load()
		if old == nil {
			continue
		}
		shard := maps.Clone(*old)
		maps.DeleteFunc(shard, func(_ uint32, expires int64) bool { return expires <= now.Unix() })
		if len(shard) == 0 {
			e.shards[i].Store(nil)
		} else if len(shard) < len(*old) {
			e.shards[i].Store(&shard)
		}
	}
}

// hear asks Redis who has logged out everywhere, until ctx ends.
func (a *Accounts) hear(ctx context.Context) {
	swept, heard := time.Now(), false
	background.Repeat(ctx, func() time.Duration {
		heard = a.hearEnds() == nil || heard // after an error the next question asks for as much
		if now := time.Now(); now.Sub(swept) >= sweepEach {
			a.ended.sweep(now)
			swept = now
		}
		if !heard { // this process has just begun
			return hearFirst
		}
		return hearPace
	})
}

func (a *Accounts) hearEnds() error {
	from := strconv.FormatFloat(a.ended.heard-float64(hearAgain.Milliseconds()), 'f', 0, 64)
	latest := a.ended.heard
	for offset := 0; ; offset += endedPage {
		var rows []string
		err := a.do(onePart, pipeline.Command(&rows, "ZRANGEBYSCORE", endedKey, from, "+inf", "WITHSCORES",
			"LIMIT", strconv.Itoa(offset), strconv.Itoa(endedPage)))
		if err != nil {
			return err
		}
		ends := map[uint32]int64{}
		for i := 0; i+1 < len(rows); i += 2 {
			user, err1 := strconv.ParseUint(rows[i], 10, 32)
			end, err2 := strconv.ParseFloat(rows[i+1], 64)
			if err1 == nil && err2 == nil {
				ends[uint32(user)] = int64(end)
				latest = max(latest, end)
			}
		}
		a.ended.add(ends)
		if len(rows) < 2*endedPage {
			a.ended.heard = latest
			return nil
		}
	}
}

// EndTokens ends all access tokens that a user has now, on every server within a second; tokens that are
// minted after it returns are valid. It waits for the next second: a token has no finer time. Error:
// ErrTooManyEnded.
func (a *Accounts) EndTokens(user uint32) error {
	end, err := a.noteEnd(user)
	if err != nil {
		return err
	}
	next := time.Unix(a.ended.last(end)+1, 0).Add(-a.cfg.TokenTTL)
	time.Sleep(min(time.Until(next), skewMax))
	return nil
}

// noteEnd ends the tokens of a user and returns when, in Unix milliseconds. Tokens of the same second end
// too, also those that are minted after it returns.
func (a *Accounts) noteEnd(user uint32) (end int64, err error) {
	err = a.do(onePart, endScript.Call(&end, []string{endedKey}, idText(user),
		strconv.FormatInt((a.cfg.TokenTTL+time.Second).Milliseconds(), 10), strconv.Itoa(endedMax)))
	switch {
	case err != nil:
		return 0, err
	case end == tooManyEnds:
		return 0, ErrTooManyEnded
	}
	a.ended.add(map[uint32]int64{user: end})
	return end, nil
}
