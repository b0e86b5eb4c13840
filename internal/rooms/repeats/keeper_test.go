package repeats

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"flashsale/internal/testkit/roomtest"
)

// A popular text that is no longer sent is trimmed in small steps, and leaves the list of those.
func TestSweep(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		c, k := counter(t, cfg), keeper(t, cfg, VK{})
		const seconds = 500
		for i := range seconds {
			c.expect(t, "popular", int64(i))
			clock.Add(time.Second)
		}
		c.expect(t, "rare", 0)
		key := textPrefix + c.names.text("popular")
		entries := func() int { return roomtest.Ask[int](t, c.redis, "ZCARD", key) }
		expect := func(due int64, left int) {
			t.Helper()
			if got, err := k.sweep(); err != nil || got != due || entries() != left {
				t.Errorf("%d texts were due, %d entries are left, %v; want %d, %d", got, entries(), err, due, left)
			}
		}
		texts := roomtest.Ask[[]string](t, c.redis, "ZRANGE", sweepsKey, "0", "-1")
		if !slices.Equal(texts, []string{key}) {
			t.Fatalf("texts to sweep %q", texts)
		}
		expect(1, seconds)
		expect(0, seconds)                        // nothing is over yet
		clock.Add(24*time.Hour - 300*time.Second) // 200 are over
		for _, left := range []int{400, 300} {
			expect(1, left)
		}
		expect(0, 300)
		c.expect(t, "popular", 299)
		clock.Add(24*time.Hour - 150*time.Second)
		for _, left := range []int{201, 101} {
			expect(1, left)
		}
		if n := roomtest.Ask[int](t, c.redis, "EXISTS", sweepsKey); n != 0 {
			t.Error("a small text is still swept")
		}
	})
}

// A text of which all is over goes at once.
func TestSweepOfWhatIsOver(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		c, k := counter(t, cfg), keeper(t, cfg, VK{})
		for i := range 200 {
			c.expect(t, "popular", int64(i))
			clock.Add(time.Second)
		}
		clock.Add(24 * time.Hour)
		if due, err := k.sweep(); err != nil || due != 1 {
			t.Errorf("%d texts were due, %v", due, err)
		}
		if n := roomtest.Ask[int](t, c.redis, "EXISTS", sweepsKey, textPrefix+c.names.text("popular")); n != 0 {
			t.Errorf("%d keys are left", n)
		}
		c.expect(t, "popular", 0)
	})
}

// A popular text that ends is swept in time, however many others there are with many entries.
func TestSweepIsFair(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		cfg.Window = time.Hour
		c, k := counter(t, cfg), keeper(t, cfg, VK{})
		const others, window = 500, 3600
		begin := clock.Now().UnixMilli() / 1000
		fill := `local function fill(text, first, entries)
			for i = 1, entries do redis.call('ZADD', text, first + i, i) end
			redis.call('ZADD', KEYS[1], first, text)
		end
		fill(KEYS[2], ARGV[1], 3600)
		for i = 1, tonumber(ARGV[2]) do fill(KEYS[2] .. i, ARGV[1] + 2 * 3600, 129) end
		return 1`
		popular := textPrefix + "popular"
		roomtest.Ask[int](t, c.redis, "EVAL", fill, "2", sweepsKey, popular, fmt.Sprint(begin), fmt.Sprint(others))
		clock.Add(window * time.Second)
		for range window / 3 { // it lives a minute longer
			if _, err := k.sweep(); err != nil { // three seconds have time for 300 steps
				t.Fatal(err)
			}
			clock.Add(3 * time.Second)
		}
		if left := roomtest.Ask[int](t, c.redis, "ZCARD", popular); left > 200 {
			t.Errorf("%d entries are left when the text expires", left)
		}
	})
}
