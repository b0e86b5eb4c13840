package logpace

import (
	"testing"
	"time"
)

func TestDue(t *testing.T) {
	var p Pace
	start := time.Now()
	for _, step := range []struct {
		after time.Duration
		want  int64
	}{
		{0, 1}, // the first at once
		{time.Millisecond, 0}, {Interval - 1, 0},
		{Interval, 3}, // with those that were left out
		{Interval, 0},
		{5 * Interval, 2},
	} {
		if got := p.Due(start.Add(step.after)); got != step.want {
			t.Errorf("event after %v: %d are due, want %d", step.after, got, step.want)
		}
	}
}
