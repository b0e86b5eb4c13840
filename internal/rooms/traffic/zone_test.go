package traffic

import (
	"archive/zip"
	"go/build"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
)

// Hours in the place of the quarters that the default keeps.
const hourly = "1m:2d,5m:14d,1h:90d,1d:3y,1w"

// Days of zones with odd offsets are those of an exact log of the hits, or are marked. Quarters of an hour
// are enough for all of them; hours are not.
func TestDaysOfZones(t *testing.T) {
	for _, test := range []struct {
		tiers, server string // the zone of -traffic-tz
		marked        bool   // some days of some zones
	}{
		{DefaultRetention, "UTC", false}, {DefaultRetention, "Asia/Kathmandu", false},
		{DefaultRetention, "Australia/Lord_Howe", false},
		{hourly, "UTC", true}, {hourly, "Asia/Kolkata", true}, {hourly, "Australia/Lord_Howe", true},
	} {
		t.Run(test.tiers+" "+test.server, func(t *testing.T) {
			c := newClock(t, "2026-03-01T09:00:00Z")
			cfg := config(t, roomtest.Redis(t), test.tiers, test.server, c)
			r, k := counting(t, cfg), keeping(t, cfg)
			dice := rand.New(rand.NewPCG(2026, 11))
			var hits []counted
			first := c.Now()
			for range 12 { // over 5 April, when the clock of Lord Howe goes back by half an hour
				c.Add(6 * 24 * time.Hour)
				hits = append(hits, r.scatter(t, dice, 60, c.Now().AddDate(0, 0, -6), c.Now())...)
				r.flushAll(t)
				k.sweepAll(t)
			}
			marked := 0
			for _, name := range []string{"UTC", "Europe/Berlin", "Asia/Kolkata", "Asia/Kathmandu",
				"Australia/Lord_Howe", "America/St_Johns", "Pacific/Chatham", "Pacific/Marquesas"} {
				marked += r.compareDays(t, hits, zone(t, name), first, c.Now())
			}
			if (marked > 0) != test.marked {
				t.Errorf("%d days are marked", marked)
			}
		})
	}
}

// scatter counts hits of a key at random times.
func (t *Traffic) scatter(tb testing.TB, dice *rand.Rand, n int, from, to time.Time) (hits []counted) {
	tb.Helper()
	for range n {
		h := counted{between(dice, from, to), 1 + dice.Int64N(9)}
		hits = append(hits, h)
		testkit.Must(tb, t.Count([]Hit{{"k", h.n, h.at}}))
	}
	return hits
}

// compareDays holds the days of a zone to the log and returns the number of those that are marked.
func (t *Traffic) compareDays(
	tb testing.TB, hits []counted, z *time.Location, from, to time.Time,
) (marked int) {
	tb.Helper()
	days := newGrid(dayStep, z)
	from, to = days.start(days.number(from)), days.start(days.number(to)+1)
	c, err := t.Query(Query{Key: "k", From: from, To: to, Step: dayStep, Zone: z})
	testkit.Must(tb, err)
	for i, p := range c.Points {
		end := to
		if i+1 < len(c.Points) {
			end = c.Points[i+1].At
		}
		if p.Approximate {
			marked++
		} else if want := sum(hits, p.At, end); p.Hits != nil && *p.Hits != want || p.Hits == nil && want > 0 {
			tb.Errorf("%v: %s hits, want %d", p.At, (&Curve{Points: []Point{p}}).text(), want)
		}
	}
	return marked
}

// In every time zone there is, local days begin with a quarter of an hour: now, and since 1980.
func TestDaysAreQuarters(t *testing.T) {
	database, err := zip.OpenReader(filepath.Join(build.Default.GOROOT, "lib", "time", "zoneinfo.zip"))
	testkit.Must(t, err)
	defer database.Close()
	zones := 0
	for _, file := range database.File {
		if strings.HasSuffix(file.Name, "/") {
			continue
		}
		zones++
		z := zone(t, file.Name)
		l := newLayout(retention(t, "15m"), z) // the server's zone moves its buckets
		days := l.grids[dayStep]
		last := days.number(at(t, "2037-12-31T00:00:00Z"))
		for day := days.number(at(t, "1980-01-01T00:00:00Z")); day < last; day += 29 {
			if start := days.start(day); l.cuts(start, frontiers{}) || start.Unix()%(15*60) != 0 {
				t.Fatalf("%s: a day begins at %v", file.Name, start)
			}
		}
	}
	if zones < 400 {
		t.Errorf("only %d time zones", zones)
	}
}
