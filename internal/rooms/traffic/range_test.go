package traffic

import (
	"errors"
	"testing"
	"time"

	"flashsale/internal/testkit"
)

func TestParseTime(t *testing.T) {
	for _, test := range []struct{ text, zone, want string }{
		{"1772446745", "UTC", "2026-03-02T10:19:05Z"},
		{"2026-03-29", "Europe/Berlin", "2026-03-28T23:00:00Z"},
		{"2026-03-29T12:30", "Europe/Berlin", "2026-03-29T10:30:00Z"},
		{"2026-03-29T12:30:00+01:00", "Asia/Kolkata", "2026-03-29T11:30:00Z"},
		{"2026-03-29", "Asia/Beirut", "2026-03-28T22:00:00Z"}, // there is no midnight
	} {
		got, err := parseTime(test.text, zone(t, test.zone))
		if err != nil || got.UTC().Format(time.RFC3339) != test.want {
			t.Errorf("%s in %s: %v, %v, want %s", test.text, test.zone, got, err, test.want)
		}
	}
	for _, text := range []string{"", "now", "-1", "2026-13-01", "2026-02-30", "10:30", "99999999999999"} {
		if got, err := parseTime(text, time.UTC); !errors.Is(err, ErrBadRange) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// The last span, and a range without an end, end with the current step and hold it whole, also where the
// step is longer.
func TestUntilNow(t *testing.T) {
	now := at(t, "2026-11-22T03:32:00Z")
	for _, test := range []struct{ param, value, step, from, to string }{
		{"last", "6h", "1h", "2026-11-21T22:00:00Z", "2026-11-22T04:00:00Z"},
		{"last", "6h", "1d", "2026-11-22T00:00:00Z", "2026-11-23T00:00:00Z"},
		{"last", "2w", "1y", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		{"from", "2026-11-21", "1h", "2026-11-21T00:00:00Z", "2026-11-22T04:00:00Z"},
		{"from", "2026-11-21T10:30", "1d", "2026-11-21T10:30:00Z", "2026-11-23T00:00:00Z"},
		{"from", "2026-11-22T03:32", "1m", "2026-11-22T03:32:00Z", "2026-11-22T03:33:00Z"},
	} {
		params := map[string]string{"key": "k", test.param: test.value, "step": test.step}
		q, err := parseQuery(func(name string) string { return params[name] }, time.UTC)
		testkit.Must(t, err)
		w, err := q.window(now)
		from, to := w.from.UTC().Format(time.RFC3339), w.to.UTC().Format(time.RFC3339)
		if err != nil || from != test.from || to != test.to || w.first > w.last {
			t.Errorf("%s=%s step=%s: from %s to %s, %v; want from %s to %s", test.param, test.value, test.step, from,
				to, err, test.from, test.to)
		}
	}
	q := Query{From: now.Add(time.Second), Step: hourStep, Zone: time.UTC}
	if w, err := q.window(now); !errors.Is(err, ErrBadRange) {
		t.Errorf("a range that begins in the future and has no end: to %v, %v", w.to, err)
	}
}

func TestLoadZone(t *testing.T) {
	for _, name := range []string{"", "Local", "Mars/Base"} {
		if z, err := LoadZone(name); err == nil {
			t.Errorf("%q is %v", name, z)
		}
	}
	if z, err := LoadZone("Europe/Berlin"); err != nil || z.String() != "Europe/Berlin" {
		t.Errorf("%v, %v", z, err)
	}
}

// Any query is read without a fault, and has a range with as many points as may be.
func FuzzParseQuery(f *testing.F) {
	f.Add("24h", "", "", "1h", "Europe/Berlin")
	f.Add("", "2026-03-29", "2026-10-25T10:00", "", "America/New_York")
	f.Add("", "0", "253402300799", "1y", "Asia/Kolkata")
	f.Fuzz(func(t *testing.T, last, from, to, step, tz string) {
		params := map[string]string{"key": "k", "last": last, "from": from, "to": to, "step": step, "tz": tz}
		q, err := parseQuery(func(name string) string { return params[name] }, time.UTC)
		if err != nil {
			if !errors.Is(err, ErrBadRange) {
				t.Errorf("%v: %v", params, err)
			}
			return
		}
		now := time.Unix(1_772_446_745, 0)
		w, err := q.window(now)
		if err != nil {
			return
		}
		n := w.last - w.first + 1
		if n < 1 || n > pointsMax || !w.from.Before(w.to) {
			t.Errorf("%v: %d points from %v to %v", params, n, w.from, w.to)
		}
		if q.Last != (Span{}) && w.to.Before(now) {
			t.Errorf("%v: it ends at %v", params, w.to)
		}
	})
}
