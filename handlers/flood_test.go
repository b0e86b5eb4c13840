package handlers

import (
	"testing"
	"time"
)

func TestFlood(t *testing.T) {
	var f flood
	start := time.Now()
	for _, step := range []struct {
		after time.Duration
		want  int64
	}{
		{0, 1}, // the first at once
		{time.Millisecond, 0}, {floodInterval - 1, 0},
		{floodInterval, 3}, // with those that were left out
		{floodInterval, 0},
		{5 * floodInterval, 2},
	} {
		if got := f.due(start.Add(step.after)); got != step.want {
			t.Errorf("event after %v: %d are due, want %d", step.after, got, step.want)
		}
	}
}
