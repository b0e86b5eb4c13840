package traffic

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Span is a length of time as people name it. Minutes and hours are exact; days, weeks, months and years
// follow the calendar.
type Span struct {
	count int
	unit  string
}

// spanUnits are the units of a span, each with its longest count.
var spanUnits = []struct {
	name string
	most int
}{{"mo", 1200}, {"m", 1_000_000}, {"h", 1_000_000}, {"d", 40_000}, {"w", 5000}, {"y", 100}}

// ParseSpan reads "30m", "6h", "7d", "2w", "3mo" or "2y".
func ParseSpan(text string) (Span, error) {
	for _, unit := range spanUnits {
		digits, found := strings.CutSuffix(text, unit.name)
		if !found {
			continue
		}
		count, err := strconv.ParseUint(digits, 10, 32)
		if err != nil || count < 1 || count > uint64(unit.most) {
			return Span{}, fmt.Errorf("%q is no length of time; it must be from 1%s to %d%[2]s", text, unit.name,
				unit.most)
		}
		return Span{int(count), unit.name}, nil
	}
	return Span{}, fmt.Errorf("%q is no length of time; it must be as 30m, 6h, 7d, 2w, 3mo or 2y", text)
}

// String is the span as it is written.
func (s Span) String() string { return strconv.Itoa(s.count) + s.unit }

// before returns the time that lies the span before t, by the calendar of a zone. In a month that is too
// short for the day of t it is the last day.
func (s Span) before(t time.Time, zone *time.Location) time.Time {
	local := t.In(zone)
	switch s.unit {
	case "m":
		return local.Add(-time.Duration(s.count) * time.Minute)
	case "h":
		return local.Add(-time.Duration(s.count) * time.Hour)
	}
	year, month, day := local.Date()
	switch s.unit {
	case "d":
		day -= s.count
	case "w":
		day -= daysPerWeek * s.count
	case "mo":
		year, month, day = lastDay(year, month-time.Month(s.count), day)
	case "y":
		year, month, day = lastDay(year-s.count, month, day)
	}
	hour, minute, second := local.Clock()
	if hour == 0 && minute == 0 && second == 0 {
		return dayStart(year, month, day, zone)
	}
	return time.Date(year, month, day, hour, minute, second, 0, zone)
}

// lastDay returns a date with a month from January to December and a day that this month has.
func lastDay(year int, month time.Month, day int) (int, time.Month, int) {
	first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	return first.Year(), first.Month(), min(day, first.AddDate(0, 1, -1).Day())
}
