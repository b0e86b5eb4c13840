package repeats

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
)

// Texts that look the same are the same, and no others.
func TestNormalForm(t *testing.T) {
	cfg := config(roomtest.Redis(t), newClock())
	c := counter(t, cfg)
	c.expect(t, "caf\u00e9", 0)
	c.expect(t, "cafe\u0301", 1)
	c.expect(t, "\u1112\u1161\u11ab", 0)
	c.expect(t, "\ud55c", 1)
	for _, other := range []string{"cafe", "Caf\u00e9", "caf\u00e9 ", " caf\u00e9"} {
		c.expect(t, other, 0)
	}
	cfg.Secret = []byte(strings.Repeat("t", 32))
	counter(t, cfg).expect(t, "caf\u00e9", 0) // another secret, another name
}

// The store shows neither texts nor events, not even by a hash without the secret.
func TestStoreHidesTexts(t *testing.T) {
	c := counter(t, config(roomtest.Redis(t), newClock()))
	c.expect(t, "a word that must not be seen", 0)
	testkit.Must(t, c.Receive(Message{Event: "event-x", Peer: 7, Text: "another word"}))
	keys := roomtest.Ask[[]string](t, c.redis, "KEYS", "*")
	if len(keys) != 6 {
		t.Errorf("keys %q", keys)
	}
	for _, key := range keys {
		if strings.Contains(key, "word") || strings.Contains(key, "event-x") || !strings.HasPrefix(key, tag) {
			t.Errorf("key %q", key)
		}
	}
}

// The room's own time is that of Redis. A key vanishes a minute after its window.
func TestClockOfRedis(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, _ *roomtest.Clock) {
		cfg.Now = nil
		c := counter(t, cfg)
		before := time.Now().Unix() - 1
		c.expect(t, "x", 0)
		c.expect(t, "x", 1)
		text := textPrefix + c.names.text("x")
		entries := roomtest.Ask[[]string](t, c.redis, "ZRANGE", text, "0", "-1", "WITHSCORES")
		var second int64
		if _, err := fmt.Sscan(entries[len(entries)-1], &second); err != nil || second < before ||
			second > time.Now().Unix()+1 {
			t.Errorf("entries %q, want the second %d", entries, before)
		}
		if ttl := roomtest.Ask[int](t, c.redis, "TTL", text); ttl < 24*3600 || ttl > 24*3600+60 {
			t.Errorf("the key lives %d s", ttl)
		}
	})
}

// Counts are those of a log that is walked through, whatever the window, the pauses and the jumps back of
// the clock.
func TestCountsLikeALog(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		calls := 6_000
		if testkit.Race || cfg.Redis.Network == "tcp" { // the in-memory engine is slow
			calls = 1_500
		}
		cfg.Window = 300 * time.Second
		c := counter(t, cfg)
		dice := rand.New(rand.NewPCG(1, 2))
		log := map[string][]int64{}
		for range calls {
			text := fmt.Sprint("text ", dice.IntN(5)*dice.IntN(2))
			switch n := dice.IntN(2000); {
			case n == 0:
				clock.Add(time.Duration(dice.IntN(900)) * time.Second)
			case n < 20:
				clock.Add(-time.Duration(dice.IntN(5)) * time.Second)
			case n < 900:
				clock.Add(time.Duration(dice.IntN(2000)) * time.Millisecond)
			}
			now := clock.Now().UnixMilli() / 1000
			if seen := log[text]; len(seen) > 0 {
				now = max(now, seen[len(seen)-1])
			}
			want := int64(0)
			for i := len(log[text]) - 1; i >= 0 && log[text][i] > now-300; i-- {
				want++
			}
			c.expect(t, text, want)
			log[text] = append(log[text], now)
		}
		for text := range log { // and never more entries than seconds in the window, and the one before
			n := roomtest.Ask[int](t, c.redis, "ZCARD", textPrefix+c.names.text(text))
			if n > 301 {
				t.Errorf("%q has %d entries", text, n)
			}
		}
	})
}

// Callers at the same moment each get another count: none is lost and none counted twice.
func TestCountsAtOnce(t *testing.T) {
	cfg := config(roomtest.Redis(t), newClock())
	counters := []*Counter{counter(t, cfg), counter(t, cfg)} // as in two workers
	const callers, calls = 32, 50
	seen := make([]bool, callers*calls)
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for range calls {
				n, err := counters[i%2].Count("popular")
				mu.Lock()
				if err != nil || n >= int64(len(seen)) || seen[n] {
					t.Errorf("count %d, %v", n, err)
				} else {
					seen[n] = true
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	counters[0].expect(t, "popular", callers*calls)
}

// A message to a text that has expired removes a few entries only.
func TestNoLongStall(t *testing.T) {
	clock := newClock()
	c := counter(t, config(roomtest.Redis(t), clock))
	for i := range 1000 {
		c.expect(t, "popular", int64(i))
		clock.Add(time.Second)
	}
	clock.Add(24 * time.Hour)
	key := textPrefix + c.names.text("popular")
	for i, want := range []int{901, 802, 703} {
		c.expect(t, "popular", int64(i))
		if n := roomtest.Ask[int](t, c.redis, "ZCARD", key); n != want {
			t.Errorf("%d entries are left, want %d", n, want)
		}
		clock.Add(time.Second)
	}
}

func TestReceive(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		cfg.RepliesMax = 3
		c := counter(t, cfg)
		c.expect(t, "hi", 0)
		for _, step := range []struct {
			m    Message
			want error
		}{
			{Message{0, "a", 1, "hi"}, nil},
			{Message{0, "a", 1, "hi"}, nil}, // the same event
			{Message{0, "a", 2, "other"}, nil},
			{Message{0, "b", -2000000003, "hi"}, nil},
			{Message{0, "c", 3, "hi"}, nil},
			{Message{0, "d", 4, "hi"}, ErrQueueFull},
			{Message{0, "c", 3, "hi"}, nil}, // received, so it is no matter that the queue is full
			{Message{0, "d", 4, "hi"}, ErrQueueFull},
		} {
			if err := c.Receive(step.m); err != step.want {
				t.Errorf("%+v: %v, want %v", step.m, err, step.want)
			}
			clock.Add(time.Millisecond)
		}
		c.expect(t, "hi", 4)
		c.expect(t, "other", 0)
		replies := roomtest.Ask[map[string]string](t, c.redis, "HGETALL", queueOf(0).replies)
		want := map[string]string{c.names.event(0, "a"): "1:1:0", c.names.event(0, "b"): "-2000000003:2:0",
			c.names.event(0, "c"): "3:3:0"}
		if fmt.Sprint(replies) != fmt.Sprint(want) {
			t.Errorf("replies %v, want %v", replies, want)
		}
	})
}
