package traffic

import (
	"testing"
	"time"

	"flashsale/internal/testkit"
)

func zone(tb testing.TB, name string) *time.Location {
	tb.Helper()
	z, err := time.LoadLocation(name)
	testkit.Must(tb, err)
	return z
}

func step(tb testing.TB, name string) Step {
	tb.Helper()
	s, err := ParseStep(name)
	testkit.Must(tb, err)
	return s
}

func at(tb testing.TB, text string) time.Time {
	tb.Helper()
	t, err := time.Parse(time.RFC3339, text)
	testkit.Must(tb, err)
	return t
}

// A bucket begins and ends where the clock on the wall says so.
func TestBuckets(t *testing.T) {
	for _, test := range []struct{ zone, step, at, start, end string }{
		{"UTC", "1m", "2026-03-01T10:02:59Z", "2026-03-01T10:02:00Z", "2026-03-01T10:03:00Z"},
		{"UTC", "5m", "2026-03-01T10:02:59Z", "2026-03-01T10:00:00Z", "2026-03-01T10:05:00Z"},
		{"UTC", "1w", "2026-03-01T10:00:00Z", "2026-02-23T00:00:00Z", "2026-03-02T00:00:00Z"},
		{"UTC", "1mo", "2024-02-29T23:59:59Z", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"},
		{"UTC", "1y", "2024-02-29T23:59:59Z", "2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"},
		// 23 and 25 hours, also in weeks and months
		{"Europe/Berlin", "1d", "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"},
		{"Europe/Berlin", "1d", "2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"},
		{"Europe/Berlin", "1w", "2026-03-29T12:00:00Z", "2026-03-22T23:00:00Z", "2026-03-29T22:00:00Z"},
		{"Europe/Berlin", "1mo", "2026-03-29T12:00:00Z", "2026-02-28T23:00:00Z", "2026-03-31T22:00:00Z"},
		{"Europe/Berlin", "1h", "2026-10-25T00:30:00Z", "2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z"},
		{"America/New_York", "1d", "2026-03-08T12:00:00Z", "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"},
		{"America/New_York", "1d", "2026-11-01T12:00:00Z", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"},
		{"America/New_York", "1y", "2026-01-01T04:59:59Z", "2025-01-01T05:00:00Z", "2026-01-01T05:00:00Z"},
		// hours begin half past those of UTC
		{"Asia/Kolkata", "1h", "2026-03-01T10:29:59Z", "2026-03-01T09:30:00Z", "2026-03-01T10:30:00Z"},
		{"Asia/Kolkata", "5m", "2026-03-01T10:29:59Z", "2026-03-01T10:25:00Z", "2026-03-01T10:30:00Z"},
		{"Asia/Kolkata", "1d", "2026-03-01T18:30:00Z", "2026-03-01T18:30:00Z", "2026-03-02T18:30:00Z"},
		{"America/St_Johns", "1h", "2026-07-01T10:10:00Z", "2026-07-01T09:30:00Z", "2026-07-01T10:30:00Z"},
		// midnight does not exist, comes twice, or is the moment of the change
		{"Asia/Beirut", "1d", "2026-03-29T12:00:00Z", "2026-03-28T22:00:00Z", "2026-03-29T21:00:00Z"},
		{"America/Havana", "1d", "2026-11-01T12:00:00Z", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"},
		{"America/Sao_Paulo", "1d", "2018-11-04T12:00:00Z", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"},
		{"America/St_Johns", "1d", "2010-11-07T03:00:00Z", "2010-11-07T02:30:00Z", "2010-11-08T03:30:00Z"},
		{"America/Sao_Paulo", "1d", "2018-02-17T12:00:00Z", "2018-02-17T02:00:00Z", "2018-02-18T03:00:00Z"},
	} {
		g := newGrid(step(t, test.step), zone(t, test.zone))
		n := g.number(at(t, test.at))
		start, end := g.start(n).UTC().Format(time.RFC3339), g.start(n+1).UTC().Format(time.RFC3339)
		if start != test.start || end != test.end {
			t.Errorf("%s of %s in %s: from %s to %s, want from %s to %s", test.step, test.at, test.zone, start,
				end, test.start, test.end)
		}
	}
}

// Every time lies in its bucket, and numbers grow by one from bucket to bucket, over years and all changes
// of the clock.
func TestBucketsTile(t *testing.T) {
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Asia/Beirut",
		"America/Havana", "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Chatham"} {
		for s := range Step(stepCodes) {
			g := newGrid(s, zone(t, name))
			begin := at(t, "2017-12-31T00:00:00Z")
			last, every := g.number(begin), 47*time.Minute // changes of the clock are at whole hours or half ones
			if testkit.Race || s < hourStep {
				every *= 7 // it is slow, and there is nothing that could race
			}
			for now := begin; now.Year() < 2021; now = now.Add(every) {
				n := g.number(now)
				if start, end := g.start(n), g.start(n+1); now.Before(start) || !now.Before(end) {
					t.Fatalf("%s in %s: %v is not from %v to %v", s, name, now, start, end)
				}
				if n < last {
					t.Fatalf("%s in %s: number %d at %v follows %d", s, name, n, now, last)
				}
				last = n
			}
		}
	}
}

func TestSpan(t *testing.T) {
	for _, test := range []struct{ span, zone, at, want string }{
		{"90m", "UTC", "2026-03-01T10:00:00Z", "2026-03-01T08:30:00Z"},
		{"24h", "Europe/Berlin", "2026-03-29T22:00:00Z", "2026-03-28T22:00:00Z"},
		{"1d", "Europe/Berlin", "2026-03-29T22:00:00Z", "2026-03-28T23:00:00Z"}, // 23 hours
		{"2w", "Europe/Berlin", "2026-10-26T10:00:00Z", "2026-10-12T09:00:00Z"},
		{"1mo", "UTC", "2026-03-31T10:00:00Z", "2026-02-28T10:00:00Z"},
		{"13mo", "UTC", "2026-01-31T10:00:00Z", "2024-12-31T10:00:00Z"},
		{"1y", "UTC", "2024-02-29T00:00:00Z", "2023-02-28T00:00:00Z"},
		{"3mo", "America/New_York", "2026-04-01T04:00:00Z", "2026-01-01T05:00:00Z"},
	} {
		span, err := ParseSpan(test.span)
		if err != nil || span.String() != test.span {
			t.Fatalf("%s: %v, %v", test.span, span, err)
		}
		if got := span.before(at(t, test.at), zone(t, test.zone)).UTC().Format(time.RFC3339); got != test.want {
			t.Errorf("%s before %s in %s: %s, want %s", test.span, test.at, test.zone, got, test.want)
		}
	}
	for _, text := range []string{"", "h", "0h", "-1h", "1", "1x", "1h1m", "99999999999h", "101y", "+1d",
		"1 d"} {
		if span, err := ParseSpan(text); err == nil {
			t.Errorf("%q is taken for %v", text, span)
		}
	}
}
