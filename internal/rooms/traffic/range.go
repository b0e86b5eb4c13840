package traffic

import (
	"fmt"
	"strconv"
	"time"
)

const (
	pointsMax    = 5000 // of a curve
	pointsChosen = 200  // at most where the step is not given
)

// chosenSteps are the steps of a query that names no step: the first that makes few enough points.
var chosenSteps = []Step{minuteStep, 4, 8, hourStep, dayStep, weekStep, monthStep, yearStep}

// Query asks for the hits of a key in a range of time, by step.
type Query struct {
	Key      string
	Last     Span      // up to the end of the current step; zero for From and To
	From, To time.Time // from From on and before To; To is zero for the end of the current step
	Step     Step      // -1: the server chooses
	Zone     *time.Location
}

// ParseQuery reads a query from parameters by name: key, last or from and to, step, tz. "" is a missing one.
// Without tz the time zone is Config.Zone. Errors: ErrBadKey, ErrBadRange.
func (t *Traffic) ParseQuery(param func(name string) string) (q Query, err error) {
	return parseQuery(param, t.cfg.Zone)
}

func parseQuery(param func(name string) string, zone *time.Location) (q Query, err error) {
	q = Query{Key: param("key"), Step: -1, Zone: zone}
	if q.Key == "" {
		return q, ErrBadKey
	}
	if name := param("tz"); name != "" {
		if q.Zone, err = LoadZone(name); err != nil {
			return q, fmt.Errorf("%w: %w", ErrBadRange, err)
		}
	}
	if text := param("step"); text != "" {
		if q.Step, err = ParseStep(text); err != nil {
			return q, fmt.Errorf("%w: %w", ErrBadRange, err)
		}
	}
	last, from, to := param("last"), param("from"), param("to")
	if (last == "") == (from == "") || from == "" && to != "" || last != "" && to != "" {
		return q, fmt.Errorf("%w: give last, or from with or without to", ErrBadRange)
	}
	if last != "" {
		if q.Last, err = ParseSpan(last); err != nil {
			return q, fmt.Errorf("%w: %w", ErrBadRange, err)
		}
		return q, nil
	}
	if q.From, err = parseTime(from, q.Zone); err != nil || to == "" {
		return q, err
	}
	if q.To, err = parseTime(to, q.Zone); err == nil && !q.From.Before(q.To) {
		err = fmt.Errorf("%w: from is not before to", ErrBadRange)
	}
	return q, err
}

// LoadZone returns a time zone of the IANA database by its name. What is local differs between machines.
func LoadZone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("%q is no time zone, as Europe/Berlin", name)
	}
	return time.LoadLocation(name)
}

const yearMax = 9999

// parseTime reads Unix seconds, RFC 3339, or a local date with or without the time of day.
func parseTime(text string, zone *time.Location) (t time.Time, err error) {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		t = time.Unix(seconds, 0)
	} else if day, err := time.ParseInLocation(time.DateOnly, text, zone); err == nil {
		t = dayStart(day.Year(), day.Month(), dayOf(text), zone)
	} else if local, err := time.ParseInLocation("2006-01-02T15:04", text, zone); err == nil {
		t = local
	} else if t, err = time.Parse(time.RFC3339, text); err != nil {
		return t, fmt.Errorf("%w: %q is no time; it must be as 2006-01-02, 2006-01-02T15:04, RFC 3339 or Unix "+
			"seconds", ErrBadRange, text)
	}
	if t.Unix() < 0 || t.UTC().Year() > yearMax {
		return t, fmt.Errorf("%w: %s is not from 1970 to %d", ErrBadRange, text, yearMax)
	}
	return t, nil
}

// dayOf is the day of the month of a date. The time of a local date may lie on the day before it, where
// midnight does not exist.
func dayOf(date string) int {
	day, _ := strconv.Atoi(date[len(date)-2:])
	return day
}

// window is the range of a query with its points.
type window struct {
	from, to    time.Time
	grid        grid
	first, last int64 // numbers of the points
}

// window makes the range of a query at a time. Error: ErrBadRange where it has too many points, or begins in
// the future and has no end.
func (q Query) window(now time.Time) (w window, err error) {
	if q.To.IsZero() && q.From.After(now) {
		return w, fmt.Errorf("%w: from is in the future, so give to", ErrBadRange)
	}
	steps, most := []Step{q.Step}, int64(pointsMax)
	if q.Step < 0 {
		steps, most = chosenSteps, pointsChosen
	}
	for _, step := range steps {
		w.grid = newGrid(step, q.Zone)
		w.from, w.to = q.From, q.To
		if w.to.IsZero() {
			w.to = w.grid.start(w.grid.number(now) + 1)
		}
		if q.Last != (Span{}) {
			w.from = q.Last.before(w.to, q.Zone)
			if current := w.grid.start(w.grid.number(now)); w.from.After(current) {
				w.from = current // of a step that is longer than the span
			}
		}
		w.first, w.last = w.grid.number(w.from), w.grid.number(w.to.Add(-time.Nanosecond))
		if w.last-w.first < most {
			return w, nil
		}
	}
	return w, fmt.Errorf("%w: %d points of %s, more than %d", ErrBadRange, w.last-w.first+1, w.grid.step, most)
}
