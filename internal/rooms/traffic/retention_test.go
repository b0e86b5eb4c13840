package traffic

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
)

func retention(tb testing.TB, text string) []Tier {
	tb.Helper()
	tiers, err := ParseRetention(text)
	testkit.Must(tb, err)
	return tiers
}

func TestParseRetention(t *testing.T) {
	for _, text := range []string{DefaultRetention, "1m", "1h:2d,1mo:1y,1y", "2m:1h,10m:2h,30m:1d,1w",
		"1d:1y,1mo"} {
		var parts []string
		for _, tier := range retention(t, text) {
			if tier.Keep == (Span{}) {
				parts = append(parts, tier.Step.String())
			} else {
				parts = append(parts, fmt.Sprintf("%s:%s", tier.Step, tier.Keep))
			}
		}
		if got := strings.Join(parts, ","); got != text {
			t.Errorf("%s is read as %s", text, got)
		}
	}
	for text, want := range map[string]string{
		"":                    `"" is no step`,
		"7m:2d,1h":            `"7m" is no step`,
		"1m:2d":               `tier "1m:2d": every tier but the last one has a time`,
		"1m,5m":               `tier "1m": every tier but the last one has a time`,
		"1m:x,5m":             `"x" is no length of time`,
		"4m:2d,6m":            "buckets of 4m do not make up whole ones of 6m",
		"5m:2d,1m":            "buckets of 5m do not make up whole ones of 1m",
		"1w:1y,1mo":           "buckets of 1w do not make up whole ones of 1mo",
		"1m:2d,5m:48h,1h":     "tier 5m is kept for 48h, which is no longer than 2d",
		"1m:2d,5m:3d,1h,":     `tier "1h": every tier`,
		"1m:2d,1m:3d,1h":      "buckets of 1m do not make up",
		"1m:2d:3d,1h":         `"2d:3d" is no length of time`,
		"1m:101y,1h":          `"101y" is no length of time; it must be from 1y to 100y`,
		" 1m:2d,1h":           `" 1m" is no step`,
		"1m:2d,5m:14d,1h:90d": `tier "1h:90d"`,
	} {
		if _, err := ParseRetention(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// The frontier never passes what is to be kept, and is at most a block behind.
func TestFrontier(t *testing.T) {
	for _, name := range []string{"UTC", "Europe/Berlin", "Asia/Kolkata"} {
		l := newLayout(retention(t, DefaultRetention), zone(t, name))
		for now := at(t, "2026-03-01T00:00:00Z"); now.Year() < 2027; now = now.Add(37 * time.Hour) {
			for _, tier := range l.tiers[:len(l.tiers)-1] {
				g, f := l.grids[tier.Step], l.frontier(tier, now)
				kept := tier.Keep.before(now, g.zone)
				if f%blockBuckets != 0 || g.start(f).After(kept) || !g.start(f+blockBuckets).After(kept) {
					t.Fatalf("%s in %s at %v: frontier %v, kept from %v", tier.Step, name, now, g.start(f), kept)
				}
			}
		}
	}
}
