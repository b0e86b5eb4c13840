package traffic

import (
	"fmt"
	"slices"
	"time"
	_ "time/tzdata" // time zones, also where the machine has none
)

// Step is the length of a bucket: minutes that divide an hour, an hour, or a unit of the calendar. Its
// number is written into Redis, so the order of steps never changes.
type Step int

const (
	minuteStep = Step(0)
	hourStep   = Step(11)
	dayStep    = Step(12)
	weekStep   = Step(13)
	monthStep  = Step(14)
	yearStep   = Step(15)

	stepCodes = 16 // a block's place in the index of its key has room for so many
)

// stepNames are the steps by number, the finest first.
var stepNames = []string{"1m", "2m", "3m", "4m", "5m", "6m", "10m", "12m", "15m", "20m", "30m",
	"1h", "1d", "1w", "1mo", "1y"}

var stepMinutes = []int64{1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60}

// ParseStep reads "5m", "1h", "1d", "1w", "1mo" or "1y".
func ParseStep(text string) (Step, error) {
	if i := slices.Index(stepNames, text); i >= 0 {
		return Step(i), nil
	}
	return 0, fmt.Errorf("%q is no step; it must be minutes that divide an hour (1m, 5m, ...), 1h, 1d, 1w, "+
		"1mo or 1y", text)
}

// String is the step as it is written.
func (s Step) String() string { return stepNames[s] }

// fixed returns the length of a step in seconds, 0 for a unit of the calendar.
func (s Step) fixed() int64 {
	if s <= hourStep {
		return stepMinutes[s] * 60
	}
	return 0
}

// within reports whether buckets of one step make up whole buckets of another.
func (s Step) within(coarser Step) bool {
	switch {
	case coarser <= s:
		return false
	case coarser <= hourStep:
		return coarser.fixed()%s.fixed() == 0
	}
	return s != weekStep
}

// grid numbers the buckets of a step in a time zone. Numbers grow with time. Calendar steps are true local
// days, weeks from Monday, months and years; a day has 23 or 25 hours where the clock changes. Minutes and
// hours are counted so that local hours begin with them.
type grid struct {
	step  Step
	zone  *time.Location
	phase int64 // seconds by which local hours begin before those of UTC
}

const (
	secondsPerHour = 3600
	secondsPerDay  = 24 * secondsPerHour
	daysPerWeek    = 7
	monthsPerYear  = 12

	mondayOffset = 3 // days from the Monday before 1 January 1970 to that day
)

func newGrid(step Step, zone *time.Location) grid {
	// The offsets of almost all zones change by whole hours only, so any day will do. Points of the others are
	// marked where hours do not fit.
	_, offset := time.Date(2020, 1, 1, 0, 0, 0, 0, zone).Zone()
	return grid{step, zone, int64(offset) - floorDiv(int64(offset), secondsPerHour)*secondsPerHour}
}

// number returns the number of the bucket that a time is in.
func (g grid) number(t time.Time) int64 {
	if length := g.step.fixed(); length > 0 {
		return floorDiv(t.Unix()+g.phase, length)
	}
	number := g.numberOfDate(t)
	// Where the clock goes back over midnight, the last hour of a day comes again when the next has begun.
	for !g.start(number + 1).After(t) {
		number++
	}
	return number
}

// numberOfDate is number by the local date.
func (g grid) numberOfDate(t time.Time) int64 {
	year, month, day := t.In(g.zone).Date()
	switch g.step {
	case monthStep:
		return int64(year)*monthsPerYear + int64(month) - 1
	case yearStep:
		return int64(year)
	}
	days := floorDiv(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix(), secondsPerDay)
	if g.step == weekStep {
		return floorDiv(days+mondayOffset, daysPerWeek)
	}
	return days
}

// start returns the first moment of a bucket.
func (g grid) start(number int64) time.Time {
	if length := g.step.fixed(); length > 0 {
		return time.Unix(number*length-g.phase, 0).In(g.zone)
	}
	switch g.step {
	case yearStep:
		return dayStart(int(number), time.January, 1, g.zone)
	case monthStep:
		year := floorDiv(number, monthsPerYear)
		return dayStart(int(year), time.Month(number-year*monthsPerYear+1), 1, g.zone)
	case weekStep:
		number = number*daysPerWeek - mondayOffset
	}
	year, month, day := time.Unix(number*secondsPerDay, 0).UTC().Date()
	return dayStart(year, month, day, g.zone)
}

// dayStart returns the first moment of a local day. Where the clock changes at midnight, that is not always
// the midnight of time.Date.
func dayStart(year int, month time.Month, day int, zone *time.Location) time.Time {
	t := time.Date(year, month, day, 0, 0, 0, 0, zone)
	begin, end := t.ZoneBounds()
	if t.Day() != time.Date(year, month, day, 12, 0, 0, 0, zone).Day() {
		return end // there is no midnight: the day begins with the change
	}
	before := begin.Add(-time.Second)
	if !begin.IsZero() && before.Day() == t.Day() && t.Sub(begin) < time.Hour {
		_, earlier := before.Zone()
		_, later := t.Zone()
		return t.Add(-time.Duration(earlier-later) * time.Second) // midnight comes twice
	}
	return t
}

// floorDiv is a/b, rounded down; b > 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
