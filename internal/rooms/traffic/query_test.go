package traffic

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
)

// The invariant: wherever a range is cut, its parts have the total of the whole, before and after buckets
// are added up. Ranges of whole buckets of the last tier have just what was counted.
func TestTotalsAddUp(t *testing.T) {
	for seed, zoneName := range []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"} {
		t.Run(zoneName, func(t *testing.T) {
			onEach(t, short, zoneName, func(t *testing.T, cfg Config, c *roomtest.Clock) {
				rounds := 12
				if cfg.Redis.Network == "tcp" || testkit.Race { // these are slow
					rounds = 3
				}
				compareWithModel(t, cfg, c, rand.New(rand.NewPCG(uint64(seed), 1)), rounds)
			})
		})
	}
}

func compareWithModel(t *testing.T, cfg Config, c *roomtest.Clock, dice *rand.Rand, rounds int) {
	r, k := counting(t, cfg), keeping(t, cfg)
	first := c.Now().AddDate(-1, 0, 0)
	var hits []counted
	for round := range rounds {
		for range 60 {
			age := time.Duration(dice.ExpFloat64() * float64([]time.Duration{time.Hour, 20 * time.Hour,
				9 * 24 * time.Hour, 90 * 24 * time.Hour}[dice.IntN(4)]))
			h := counted{c.Now().Add(-min(age, c.Now().Sub(first))), 1 + dice.Int64N(3000)}
			hits = append(hits, h)
			testkit.Must(t, r.Count([]Hit{{"k", h.n, h.at}}))
		}
		r.flushAll(t)
		compareTotals(t, r, hits, first, dice)
		if round%3 > 0 {
			k.sweepAll(t)
			compareTotals(t, r, hits, first, dice)
		}
		c.Add(time.Duration(dice.Int64N(int64(20 * 24 * time.Hour))))
	}
}

func compareTotals(t *testing.T, r *Traffic, hits []counted, first time.Time, dice *rand.Rand) {
	t.Helper()
	begin, end := first.AddDate(0, -1, 0), r.now().AddDate(0, 1, 0)
	if got, want := r.total(t, "k", begin, end), sum(hits, begin, end); got != want {
		t.Fatalf("%d hits in all, want %d", got, want)
	}
	for range 4 {
		cuts := []time.Time{between(dice, begin, end), between(dice, begin, end), between(dice, begin, end)}
		slices.SortFunc(cuts, time.Time.Compare)
		cuts[0], cuts[2] = cuts[0].Add(-time.Second), cuts[2].Add(time.Second)
		if cuts[1].Equal(cuts[0]) || cuts[1].Equal(cuts[2]) {
			continue
		}
		a, b := r.total(t, "k", cuts[0], cuts[1]), r.total(t, "k", cuts[1], cuts[2])
		if whole := r.total(t, "k", cuts[0], cuts[2]); a+b != whole {
			t.Fatalf("cut at %v: %d + %d hits, want %d", cuts, a, b, whole)
		}
		weeks := newGrid(weekStep, r.cfg.Zone)
		from := weeks.start(weeks.number(cuts[0]))
		to := weeks.start(weeks.number(cuts[2]) + 1)
		if got, want := r.total(t, "k", from, to), sum(hits, from, to); got != want {
			t.Fatalf("weeks from %v to %v: %d hits, want %d", from, to, got, want)
		}
	}
}

// A day by the hour has 24 points, with the hour that is not over. Empty is not zero.
func TestCurve(t *testing.T) {
	onEach(t, DefaultRetention, "UTC", func(t *testing.T, cfg Config, c *roomtest.Clock) {
		r := counting(t, cfg)
		now := c.Now()
		r.hit(t, "k", 5, now.Add(-3*time.Hour))
		r.hit(t, "k", 7, now)
		r.hit(t, "k", 2, now.Add(-3*time.Hour)) // a late one lands in its bucket
		day := r.curve(t, "k", map[string]string{"last": "24h", "step": "1h"})
		if want := strings.Repeat("- ", 20) + "7 0 0 7*"; day.text() != want || len(day.Points) != 24 {
			t.Errorf("%s, want %s", day.text(), want)
		}
		if day.Total != 14 || day.Data != "1m" || day.From.Format(time.RFC3339) != "2026-03-01T11:00:00Z" {
			t.Errorf("%+v", day)
		}
		for _, test := range []struct{ last, step, tz, want string }{
			{"5m", "1m", "", "0 0 0 0 7*"},
			{"3h", "15m", "", "0 0 0 0 0 0 0 0 0 0 0 7*"},
			{"2d", "1d", "", "- 14*"},
			{"2d", "1d", "America/Anchorage", "7 7*"}, // midnight there is at 9 UTC
			{"3mo", "1mo", "", "- - 14*"},
			{"2y", "1y", "", "- 14*"},
			{"1w", "1w", "", "14*"},
		} {
			got := r.curve(t, "k", map[string]string{"last": test.last, "step": test.step, "tz": test.tz})
			if got.text() != test.want {
				t.Errorf("last %s by %s in %q: %s, want %s", test.last, test.step, test.tz, got.text(), test.want)
			}
		}
		if got := r.curve(t, "k", map[string]string{"last": "4h"}); got.Step != "5m" || len(got.Points) != 48 {
			t.Errorf("the step that is chosen for 4h: %s, %d points", got.Step, len(got.Points))
		}
		future := r.curve(t, "k", map[string]string{"from": "2026-03-02T10:00", "to": "2026-03-02T13:00",
			"step": "1h"})
		if future.text() != "7* - -" {
			t.Errorf("in the future: %s", future.text())
		}
		_, err := r.Query(Query{Key: "none", Last: Span{1, "h"}, Step: -1, Zone: time.UTC})
		if !errors.Is(err, ErrNoKey) {
			t.Errorf("a key without hits: %v", err)
		}
	})
}

// Where only longer buckets are stored, shorter points are not invented.
func TestCurveTellsItsData(t *testing.T) {
	onEach(t, short, "UTC", func(t *testing.T, cfg Config, c *roomtest.Clock) {
		r, k := counting(t, cfg), keeping(t, cfg)
		r.hit(t, "k", 3, at(t, "2026-03-02T08:07:00Z"))
		r.hit(t, "k", 4, at(t, "2026-03-02T08:17:00Z"))
		ask := map[string]string{"from": "2026-03-02T08:00", "to": "2026-03-02T08:20", "step": "2m"}
		if got := r.curve(t, "k", ask); got.text() != "- - - 3 0 0 0 0 4 0" || got.Data != "1m" {
			t.Errorf("before: %s by %s", got.text(), got.Data)
		}
		c.Add(14 * time.Hour)
		k.sweepAll(t)
		if got := r.curve(t, "k", ask); got.text() != "- - 3 - - 0 - 4 - -" || got.Data != "5m" {
			t.Errorf("by five minutes: %s by %s", got.text(), got.Data)
		}
	})
}
