package traffic

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// Hits between two flushes belong to the minute in which they came.
func TestMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{Redis: pipeline.Config{Network: "unix", Address: "/nowhere", Timeout: time.Second},
			Tiers: retention(t, DefaultRetention), Zone: time.UTC, KeysMax: 10})
		counters := r.Counters([]string{"k"})
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute + 50*time.Second)))
		first := time.Now().Unix() / 60
		stop := testkit.Background(t, func(ctx context.Context) error {
			r.collectUntil(ctx, func() {})
			return nil
		})
		synctest.Wait()
		for range 40 { // seconds 50 to 89
			counters.Add(0, 1)
			time.Sleep(time.Second)
			synctest.Wait()
		}
		stop()
		for minute, want := range map[int64]int64{first: 10, first + 1: 30} {
			if got := r.flusher.waiting[entry{"k", minute}]; got != want {
				t.Errorf("%d hits in minute %d, want %d", got, minute-first, want)
			}
		}
	})
}

// Hits of a clock that is ahead are of now: no answer has hits of the future, and none lacks them.
func TestHitsAhead(t *testing.T) {
	onEach(t, DefaultRetention, "UTC", func(t *testing.T, cfg Config, c *roomtest.Clock) {
		r := counting(t, cfg)
		r.hit(t, "k", 3, c.Now().Add(future))
		if got := r.curve(t, "k", map[string]string{"last": "1m", "step": "1m"}); got.text() != "3*" {
			t.Errorf("the current minute: %s", got.text())
		}
		before := c.Now().Add(-time.Minute).Truncate(time.Minute)
		from := map[string]string{"from": itoa(before.Unix()), "step": "1m"}
		if got := r.curve(t, "k", from); got.text() != "- 3*" {
			t.Errorf("from the minute before on: %s", got.text())
		}
		err := r.Count([]Hit{{"k", 1, c.Now().Add(future + time.Second)}})
		testkit.Wants(t, "a clock that is further ahead", err, ErrBadRange)
	})
}

// A stop flushes also where Redis was restarted since the last flush, and ends where it is away.
func TestStopAfterRestart(t *testing.T) {
	server := redistest.New(t, "--appendonly", "yes")
	cfg := config(t, roomtest.Of(server), DefaultRetention, "UTC", newClock(t, begun))
	r, logs := New(cfg), counting(t, cfg)
	counters := r.Counters([]string{"k"})
	stop := testkit.Background(t, r.Run)
	testkit.Until(t, "connection", r.redis.Up)
	counters.Add(0, 7)
	server.Kill(t)
	server.Restart(t)
	stop()
	testkit.Until(t, "connection", func() bool {
		_, err := logs.identify("k")
		return err == nil
	})
	if got := logs.total(t, "k", logs.now().Add(-time.Hour), logs.now().Add(time.Hour)); got != 7 {
		t.Errorf("%d hits, want 7", got)
	}
	server.Kill(t)
	away := New(cfg)
	testkit.Must(t, away.Count([]Hit{{Key: "k", N: 1}}))
	away.EndBy(time.Now())
	testkit.Background(t, away.Run)()
}

// A stop ends in its time and counts what it drops, also where Redis does not answer a flush under way.
func TestStopInTime(t *testing.T) {
	logs := testkit.CaptureLog(t)
	server := redistest.New(t)
	cfg := config(t, roomtest.Of(server), DefaultRetention, "UTC", newClock(t, begun))
	cfg.Redis.Timeout = time.Hour
	justBefore := cfg.Now().Add(-time.Millisecond)
	cfg.Now = func() time.Time { return justBefore } // flushes follow one another
	r := New(cfg)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Run(ctx) }()
	testkit.Until(t, "connection", r.redis.Up)
	server.Freeze(t)
	defer server.Thaw(t)
	testkit.Must(t, r.Count([]Hit{{Key: "under way", N: 3}}))
	testkit.Until(t, "flush", func() bool {
		s := r.shard("under way")
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.hits == nil
	})
	testkit.Must(t, r.Count([]Hit{{Key: "later", N: 4}}))
	r.EndBy(time.Now())
	stop()
	testkit.Must(t, <-ended)
	if r.cfg.Dropped.Value() != 7 || logs.Count("dropped=7") != 1 {
		t.Errorf("%d dropped, logged: %s", r.cfg.Dropped.Value(), logs)
	}
}
