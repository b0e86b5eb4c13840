package traffic

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// roll.lua moves a block once, however often it is asked to.
func TestRollScript(t *testing.T) {
	onEach(t, short, "UTC", func(t *testing.T, cfg Config, c *roomtest.Clock) {
		r := counting(t, cfg)
		start := at(t, "2026-03-02T00:00:00Z")
		minutes := r.layout.grids[minuteStep]
		b := block{minuteStep, minutes.number(start) / blockBuckets}
		first, end := r.layout.bounds(b)
		for i := range int64(blockBuckets) {
			r.hit(t, "k", i+1, minutes.start(b.number*blockBuckets+i))
		}
		for _, want := range []int64{blockBuckets, 0} {
			var buckets int64
			testkit.Must(t, r.redis.Do(r.layout.roll(&buckets, 1, b)))
			if buckets != want {
				t.Errorf("%d buckets were added up, want %d", buckets, want)
			}
			fives := first.Truncate(5 * time.Minute)
			if n := r.total(t, "k", fives, end); n != blockBuckets*(blockBuckets+1)/2 {
				t.Errorf("%d hits", n)
			}
			for _, member := range roomtest.Ask[[]int64](t, r.redis, "SMEMBERS", indexKey(1)) {
				if blockOf(member).step != 4 {
					t.Errorf("there is still a block of %v", blockOf(member).step)
				}
			}
			if n := roomtest.Ask[int64](t, r.redis, "EXISTS", blockKey(1, b)); n != 0 {
				t.Error("the block is still there")
			}
		}
	})
}

// filled counts hits over two years under some keys, and returns their sums.
func filled(t *testing.T, r *Traffic, keys int, dice *rand.Rand) map[string]int64 {
	t.Helper()
	sums := map[string]int64{}
	for range keys * 40 {
		h := Hit{fmt.Sprint("key ", dice.IntN(keys)), 1 + dice.Int64N(9),
			between(dice, r.now().AddDate(-2, 0, 0), r.now())}
		sums[h.Key] += h.N
		testkit.Must(t, r.Count([]Hit{h}))
	}
	r.flushAll(t)
	return sums
}

func (t *Traffic) expectSums(tb testing.TB, sums map[string]int64) {
	tb.Helper()
	for key, want := range sums {
		if n := t.total(tb, key, t.now().AddDate(-3, 0, 0), t.now().AddDate(1, 0, 0)); n != want {
			tb.Fatalf("%s: %d hits, want %d", key, n, want)
		}
	}
}

// Three Keepers with connections that break in the middle of their steps add everything up just once, while
// queries read and hits come in. In the end all of it is in the last tier.
func TestKeepersAtOnce(t *testing.T) {
	server := redistest.New(t)
	c := newClock(t, begun)
	cfg := config(t, roomtest.Of(server), short, "Europe/Berlin", c)
	r := counting(t, cfg)
	const keys = sweepKeys + 10 // a sweep of two steps
	sums := filled(t, r, keys, rand.New(rand.NewPCG(7, 7)))
	c.Add(100 * 24 * time.Hour)

	proxy, err := launch.StartProxy("unix", server.Socket)
	testkit.Must(t, err)
	t.Cleanup(proxy.Stop)
	broken := cfg
	broken.Redis.Network, broken.Redis.Address = "tcp", proxy.Address()
	keepers := []*Keeper{keeping(t, cfg), keeping(t, cfg), keeping(t, broken)}
	ctx, stop := context.WithCancel(t.Context())
	var working, reading sync.WaitGroup
	for _, k := range keepers {
		working.Go(func() {
			for {
				_ = k.keep(ctx) // its connection may break
				cursor := roomtest.Ask[string](t, r.redis, "HGET", stateKey, "cursor")
				if cursor == "-1" {
					return
				}
			}
		})
	}
	reading.Go(func() {
		for dice := rand.New(rand.NewPCG(1, 1)); ctx.Err() == nil; {
			proxy.BreakNext(launch.Cut{Replies: dice.IntN(2) == 0, Share: dice.Float64()})
			key := fmt.Sprint("key ", dice.IntN(len(sums)))
			c, err := r.Query(Query{Key: key, Last: Span{3, "y"}, Step: yearStep, Zone: time.UTC})
			switch {
			case errors.Is(err, pipeline.ErrUnavailable): // Keepers changed the key in each of readAttempts
			case err != nil || c.Total != sums[key]:
				t.Errorf("%s: %+v, %v; want %d hits", key, c, err, sums[key])
			}
		}
	})
	working.Wait()
	stop()
	reading.Wait()
	r.expectSums(t, sums)
	for id := range int64(keys) {
		for _, member := range roomtest.Ask[[]int64](t, r.redis, "SMEMBERS", indexKey(id+1)) {
			if b := blockOf(member); b.step < dayStep {
				t.Fatalf("key %d still has a block of %s", id+1, b.step)
			}
		}
	}
}

// A sweep that ended with its server goes on where it was, by any other one.
func TestSweepGoesOn(t *testing.T) {
	onEach(t, short, "UTC", func(t *testing.T, cfg Config, c *roomtest.Clock) {
		r, dead, k := counting(t, cfg), keeping(t, cfg), keeping(t, cfg)
		for i := range 2*sweepKeys + 1 {
			testkit.Must(t, r.Count([]Hit{{fmt.Sprint(i), 1, c.Now().Add(-time.Hour)}}))
		}
		r.flushAll(t)
		c.Add(30 * time.Hour)
		cursor, keys, err := dead.advance(c.Now())
		testkit.Must(t, err)
		if cursor != 0 || keys != 2*sweepKeys+1 {
			t.Fatalf("cursor %d of %d keys", cursor, keys)
		}
		if cursor, err = dead.sweep(cursor); err != nil || cursor != sweepKeys {
			t.Fatalf("cursor %d, %v", cursor, err)
		}
		if cursor, _, err = k.advance(c.Now()); err != nil || cursor != sweepKeys {
			t.Errorf("another one goes on at %d, %v", cursor, err)
		}
		k.sweepAll(t)
		if again, err := dead.sweep(sweepKeys); err != nil || again != -1 { // it was only slow
			t.Errorf("a slow one sets the cursor to %d, %v", again, err)
		}
		if cursor, _, err = k.advance(c.Now()); err != nil || cursor != -1 {
			t.Errorf("in the end the cursor is %d, %v", cursor, err)
		}
		if blocks := roomtest.Ask[[]string](t, r.redis, "KEYS", tag+"*:0:*"); len(blocks) > 0 {
			t.Errorf("%d blocks of minutes are left", len(blocks))
		}
	})
}

// A read adds up what is due of its key, in bounded steps, without a Keeper.
func TestReadAddsUp(t *testing.T) {
	onEach(t, short, "UTC", func(t *testing.T, cfg Config, c *roomtest.Clock) {
		r, k := counting(t, cfg), keeping(t, cfg)
		const blocks = readRolls + 20
		for i := range int64(blocks) {
			h := Hit{"k", 1, c.Now().Add(-time.Duration(i) * blockBuckets * time.Minute)}
			testkit.Must(t, r.Count([]Hit{h}))
		}
		r.flushAll(t)
		c.Add(24 * time.Hour)
		if _, _, err := k.advance(c.Now()); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if n := r.total(t, "k", c.Now().AddDate(0, -1, 0), c.Now()); n != blocks {
				t.Errorf("%d hits, want %d", n, blocks)
			}
		}
		index, f, err := readIndex(r.redis, 1)
		if due := r.layout.due(index, f); err != nil || len(due) > 0 {
			t.Errorf("%d blocks are still due, %v", len(due), err)
		}
	})
}

// Another retention goes on with what is stored.
func TestOtherRetention(t *testing.T) {
	onEach(t, short, "UTC", func(t *testing.T, cfg Config, c *roomtest.Clock) {
		r := counting(t, cfg)
		sums := filled(t, r, 5, rand.New(rand.NewPCG(3, 3)))
		keeping(t, cfg).sweepAll(t)
		for _, text := range []string{"2m:1h,10m:3d,1mo:1y,1y", "1m", "1d:10d,1w", short} {
			cfg.Tiers = retention(t, text)
			other := counting(t, cfg)
			other.expectSums(t, sums)
			c.Add(50 * 24 * time.Hour)
			keeping(t, cfg).sweepAll(t)
			other.expectSums(t, sums)
		}
	})
}

// While one server goes by other tiers, a Keeper adds nothing up. When that one has been silent for some
// minutes its own tiers hold.
func TestOneRetentionAtATime(t *testing.T) {
	onEach(t, short, "UTC", func(t *testing.T, cfg Config, c *roomtest.Clock) {
		log := testkit.CaptureLog(t)
		r, first := counting(t, cfg), keeping(t, cfg)
		r.hit(t, "k", 3, time.Time{})
		first.sweepAll(t)
		cfg.Tiers = retention(t, "1h:2d,1w")
		other := keeping(t, cfg)
		c.Add(2 * time.Minute)
		testkit.Must(t, other.keep(t.Context()))
		index := roomtest.Ask[[]int64](t, r.redis, "SMEMBERS", indexKey(1))
		if len(index) != 1 || blockOf(index[0]).step != minuteStep {
			t.Errorf("it has added up minutes: %v", index)
		}
		if log.Count("another server of this Redis has another -traffic-retention or -traffic-tz") != 1 {
			t.Errorf("log %s", log)
		}
		first.sweepAll(t) // a word of the first
		c.Add(3 * time.Minute)
		if cursor, _, err := other.advance(c.Now()); err != nil || cursor == otherLayout {
			t.Errorf("three minutes later: cursor %d, %v", cursor, err)
		}
	})
}

// A Keeper that runs adds up by itself.
func TestKeeperRuns(t *testing.T) {
	c := newClock(t, begun)
	cfg := config(t, roomtest.Redis(t), short, "UTC", c)
	r := counting(t, cfg)
	r.hit(t, "k", 3, c.Now().AddDate(0, 0, -1))
	stop := testkit.Background(t, NewKeeper(cfg).Run)
	testkit.Until(t, "blocks added up", func() bool {
		index, _, err := readIndex(r.redis, 1)
		return err == nil && len(index) == 1 && blockOf(index[0]).step > minuteStep
	})
	stop()
}
