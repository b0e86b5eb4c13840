package traffic

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// What flush.lua returns and leaves, for every code.
func TestFlushScript(t *testing.T) {
	onEach(t, DefaultRetention, "UTC", func(t *testing.T, cfg Config, c *roomtest.Clock) {
		r := counting(t, cfg)
		minute := c.Now().Unix() / 60
		send := func(number, answered int64) (code int64) {
			t.Helper()
			r.flusher.answered = answered
			hits := &chunk{number, []keyHits{{entry{"a", minute}, 5}, {entry{"b", minute - 1}, 2}}}
			keys := []string{stateKey, namesKey, processPrefix + "p"}
			testkit.Must(t, r.redis.Do(flushScript.Call(&code, keys, r.chunkArgs(hits)...)))
			return code
		}
		for _, step := range []struct{ number, answered, code, a int64 }{
			{2, 0, chunkMissing, -1},
			{1, 0, chunkCounted, 5},
			{1, 0, chunkCountedBefore, 5},
			{3, 0, chunkMissing, 5},
			{2, 1, chunkCounted, 10},
			{1, 0, chunkCountedBefore, 10},
			{3, 2, chunkCounted, 15},
		} {
			if code := send(step.number, step.answered); code != step.code {
				t.Errorf("chunk %d after %d: code %d, want %d", step.number, step.answered, code, step.code)
			}
			if step.a < 0 {
				if keys := roomtest.Ask[[]string](t, r.redis, "KEYS", "*"); len(keys) != 0 {
					t.Errorf("it left %v", keys)
				}
				continue
			}
			if a := r.total(t, "a", c.Now().Add(-time.Hour), c.Now()); a != step.a {
				t.Errorf("chunk %d after %d: %d hits, want %d", step.number, step.answered, a, step.a)
			}
		}
		index := roomtest.Ask[[]int64](t, r.redis, "SMEMBERS", indexKey(1))
		if len(index) != 1 || blockOf(index[0]) != (block{minuteStep, minute / blockBuckets}) {
			t.Errorf("index %v", index)
		}
		if ttl := roomtest.Ask[int64](t, r.redis, "TTL", processPrefix+"p"); ttl < 29*24*3600 {
			t.Errorf("the process is forgotten after %d s", ttl)
		}
		if top := roomtest.Ask[string](t, r.redis, "ZSCORE", topPrefix+itoa(slotOf(c.Now())), "a"); top != "15" {
			t.Errorf("a has %s hits in the slot", top)
		}
		// A Redis that was restored from an older copy takes the next chunk of a process that goes on.
		roomtest.Ask[string](t, r.redis, "SET", processPrefix+"p", "1")
		if code := send(4, 3); code != chunkCounted {
			t.Errorf("a Redis of before: code %d", code)
		}
		// So does one that was emptied.
		roomtest.Ask[string](t, r.redis, "FLUSHALL")
		if code := send(5, 4); code != chunkCounted {
			t.Errorf("an emptied Redis: code %d", code)
		}
	})
}

// A bucket counts up to sumMax and then stays, also where it is added up: a sum never wraps around.
func TestLargestSum(t *testing.T) {
	onEach(t, short, "UTC", func(t *testing.T, cfg Config, c *roomtest.Clock) {
		r := counting(t, cfg)
		for _, minute := range []int{0, 1, 1} {
			r.shard("k").hits = map[entry]int64{{"k", c.Now().Unix()/60 - int64(minute)}: sumMax - 1}
			r.shard("k").add(entry{"k", c.Now().Unix()/60 - int64(minute)}, 5)
			r.flushAll(t)
		}
		if got := r.total(t, "k", c.Now().Add(-time.Hour), c.Now()); got != 2*sumMax {
			t.Errorf("%d hits in two minutes, want %d", got, 2*sumMax)
		}
		c.Add(3 * 24 * time.Hour)
		keeping(t, cfg).sweepAll(t)
		if got := r.total(t, "k", c.Now().AddDate(0, 0, -4), c.Now()); got != sumMax {
			t.Errorf("%d hits in the hour, want %d", got, sumMax)
		}
	})
}

// Hits beyond the most keys go to one key, and are counted there.
func TestKeysMax(t *testing.T) {
	onEach(t, DefaultRetention, "UTC", func(t *testing.T, cfg Config, c *roomtest.Clock) {
		cfg.KeysMax = 3
		r := counting(t, cfg)
		for i := range 6 {
			r.hit(t, fmt.Sprintf("k%d", i), int64(i+1), time.Time{})
		}
		r.hit(t, "k1", 10, time.Time{}) // known ones go on
		end := c.Now().Add(time.Hour)
		for key, want := range map[string]int64{"k0": 1, "k1": 12, "k2": 3, "other": 4 + 5 + 6} {
			if got := r.total(t, key, c.Now().Add(-time.Hour), end); got != want {
				t.Errorf("%s: %d hits, want %d", key, got, want)
			}
		}
		if other := roomtest.Ask[string](t, r.redis, "HGET", stateKey, "other"); other != "15" {
			t.Errorf("%s hits went to the other keys, want 15", other)
		}
		_, err := r.Query(Query{Key: "k5", Last: Span{1, "h"}, Step: -1, Zone: time.UTC})
		if !errors.Is(err, ErrNoKey) {
			t.Errorf("a key beyond the most: %v", err)
		}
	})
}

// A late hit lands in the tier that has its time, never in one that was added up.
func TestLateHit(t *testing.T) {
	onEach(t, short, "UTC", func(t *testing.T, cfg Config, c *roomtest.Clock) {
		r, k := counting(t, cfg), keeping(t, cfg)
		k.sweepAll(t)
		f := k.layout.frontier(k.layout.tiers[0], c.Now())
		border := k.layout.grids[minuteStep].start(f)
		r.hit(t, "k", 1, border)
		r.hit(t, "k", 2, border.Add(-time.Second))
		r.hit(t, "k", 4, c.Now().AddDate(-1, 0, 0))
		var steps []string
		for _, member := range roomtest.Ask[[]int64](t, r.redis, "SMEMBERS", indexKey(1)) {
			steps = append(steps, blockOf(member).step.String())
		}
		if got := strings.Join(steps, " "); len(steps) != 3 || !strings.Contains(got, "1m") ||
			!strings.Contains(got, "5m") || !strings.Contains(got, "1w") {
			t.Errorf("the hits are in %s", got)
		}
		for cut, want := range map[time.Time]int64{border: 1, border.Add(-5 * time.Minute): 3,
			c.Now().AddDate(-1, 0, -8): 7} {
			if got := r.total(t, "k", cut, c.Now()); got != want {
				t.Errorf("from %v on: %d hits, want %d", cut, got, want)
			}
		}
	})
}

// While Redis is away hits wait and keep their minute; what was sent and not answered is counted once.
func TestRedisAway(t *testing.T) {
	server := redistest.New(t, "--appendonly", "yes", "--appendfsync", "always")
	c := newClock(t, begun)
	r := counting(t, config(t, roomtest.Of(server), DefaultRetention, "UTC", c))
	counters := r.Counters([]string{"a", "b"})
	counters.Add(0, 3)
	r.flushAll(t)
	server.Kill(t)
	testkit.Until(t, "Redis away", func() bool { return !r.redis.Up() || !r.flushOnce("x") })
	for range 3 {
		counters.Add(0, 1)
		counters.Add(1, 5)
		r.collect(c.Now())
		if r.flush() {
			t.Fatal("flushed to a Redis that is away")
		}
		c.Add(time.Minute)
	}
	server.Restart(t)
	testkit.Until(t, "Redis back", func() bool { return r.redis.Up() && r.flush() })
	for key, want := range map[string]string{"a": "4 1 1 0*", "b": "5 5 5 0*"} {
		if got := r.curve(t, key, map[string]string{"last": "4m", "step": "1m"}); got.text() != want {
			t.Errorf("%s: %s, want %s", key, got.text(), want)
		}
	}
}

// flushOnce counts a hit of a key and reports whether it is flushed.
func (t *Traffic) flushOnce(key string) bool {
	_ = t.Count([]Hit{{Key: key, N: 1}})
	t.collect(t.now())
	return t.flush()
}

// A connection that breaks in the middle of a flush loses nothing and counts nothing twice.
func TestBrokenFlush(t *testing.T) {
	server := redistest.New(t)
	proxy, err := launch.StartProxy("unix", server.Socket)
	testkit.Must(t, err)
	t.Cleanup(proxy.Stop)
	c := newClock(t, begun)
	redis := pipeline.Config{Network: "tcp", Address: proxy.Address(), Timeout: redistest.Timeout}
	r := counting(t, config(t, redis, DefaultRetention, "UTC", c))
	const keys = 5*chunkHits - 1
	rounds := int64(0)
	for _, replies := range []bool{false, true} {
		for _, share := range []float64{0, 0.1, 0.3, 0.5, 0.8, 0.95} {
			rounds++
			for i := range keys {
				testkit.Must(t, r.Count([]Hit{{Key: fmt.Sprint("key ", i), N: 1}}))
			}
			r.collect(c.Now())
			testkit.Until(t, "connection", r.redis.Up)
			proxy.BreakNext(launch.Cut{Replies: replies, Share: share})
			broken := !r.flush()
			if !broken || !proxy.Broken() {
				t.Errorf("replies %v, share %v: the flush was not broken", replies, share)
			}
			testkit.Until(t, "flush", r.flush)
			for _, i := range []int{0, 1, keys / 2, keys - 1} {
				key := fmt.Sprint("key ", i)
				if n := r.total(t, key, c.Now().Add(-time.Hour), c.Now().Add(time.Hour)); n != rounds {
					t.Fatalf("replies %v, share %v: %s has %d hits, want %d", replies, share, key, n, rounds)
				}
			}
			last := roomtest.Ask[string](t, r.redis, "GET", processPrefix+r.flusher.process)
			if last != itoa(5*rounds) {
				t.Fatalf("the last chunk is %s, want %d", last, 5*rounds)
			}
		}
	}
	sum := 0.0
	for _, score := range topScores(t, r, c) {
		sum += score
	}
	if sum != float64(keys*rounds) {
		t.Errorf("%v hits in all, want %d", sum, keys*rounds)
	}
}

// topScores are the hits of each key in the current slot.
func topScores(t *testing.T, r *Traffic, c *roomtest.Clock) (scores []float64) {
	t.Helper()
	slot := topPrefix + itoa(slotOf(c.Now()))
	list := roomtest.Ask[[]string](t, r.redis, "ZRANGE", slot, "0", "-1", "WITHSCORES")
	for i := 1; i < len(list); i += 2 {
		var score float64
		if _, err := fmt.Sscan(list[i], &score); err != nil {
			t.Fatal(err)
		}
		scores = append(scores, score)
	}
	return scores
}

// Too many keys that wait are dropped and counted as dropped: those that wait for Redis, and those that
// come between two flushes.
func TestDropped(t *testing.T) {
	c := newClock(t, begun)
	r := New(config(t, roomtest.Nowhere(), DefaultRetention, "UTC", c))
	for i := range waitingMax + 3 {
		r.await(entry{"k", int64(i)}, 2)
	}
	r.await(entry{"k", 0}, 1) // a sum that waits already
	if r.cfg.Dropped.Value() != 6 || len(r.flusher.waiting) != waitingMax {
		t.Errorf("%d dropped, %d wait", r.cfg.Dropped.Value(), len(r.flusher.waiting))
	}
	r = New(config(t, roomtest.Nowhere(), DefaultRetention, "UTC", c))
	for i := range shardMax + 3 {
		at := c.Now().Add(-time.Duration(i) * time.Minute)
		testkit.Must(t, r.Count([]Hit{{"k", 2, at}, {"k", 1, c.Now()}}))
	}
	if n := len(r.shard("k").hits); r.cfg.Dropped.Value() != 6 || n != shardMax {
		t.Errorf("%d dropped between two flushes, %d sums in a shard", r.cfg.Dropped.Value(), n)
	}
}
