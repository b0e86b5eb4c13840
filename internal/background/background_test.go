package background

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// until runs a loop for some time and returns when it called, as seconds since the start.
func until(t *testing.T, end time.Duration, loop func(ctx context.Context, called func())) (seconds string) {
	t.Helper()
	var calls []float64
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, stop := context.WithTimeout(t.Context(), end)
		defer stop()
		loop(ctx, func() { calls = append(calls, time.Since(start).Seconds()) })
		if took := time.Since(start); took != end {
			t.Errorf("the loop ended after %v, want %v", took, end)
		}
	})
	return fmt.Sprint(calls)
}

func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		for _, step := range []struct {
			wait, took time.Duration
			goesOn     bool
		}{
			{20 * time.Second, 20 * time.Second, true}, {time.Hour, 40 * time.Second, false},
			{time.Hour, 0, false}, {0, 0, false},
		} {
			start := time.Now()
			if goesOn := Pause(ctx, step.wait); goesOn != step.goesOn || time.Since(start) != step.took {
				t.Errorf("a pause of %v took %v, goes on %v", step.wait, time.Since(start), goesOn)
			}
		}
	})
}

func TestEvery(t *testing.T) {
	got := until(t, 65*time.Second, func(ctx context.Context, called func()) {
		Every(ctx, 10*time.Second, func() {
			if called(); time.Now().Second() == 20 {
				time.Sleep(25 * time.Second) // two ends are missed, and one call makes up for them
			}
		})
	})
	if got != "[10 20 45 50 60]" {
		t.Errorf("called after %s s", got)
	}
}

func TestRepeat(t *testing.T) {
	got := until(t, 20*time.Second, func(ctx context.Context, called func()) {
		pause := time.Second
		Repeat(ctx, func() time.Duration {
			called()
			pause *= 2
			return pause
		})
	})
	if got != "[0 2 6 14]" {
		t.Errorf("called after %s s", got)
	}
}

func TestDelay(t *testing.T) {
	for failures, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second,
		9: 256 * time.Second, 10: 5 * time.Minute, 297: 5 * time.Minute} {
		if got := Delay(failures, time.Second, 5*time.Minute); got != want {
			t.Errorf("after %d failures: %v, want %v", failures, got, want)
		}
	}
}

// The connection is there from before the work until after it.
func TestBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		connection := func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			ended = true
			return nil
		}
		Beside(connection, func() {
			time.Sleep(time.Minute)
			synctest.Wait()
			if ended {
				t.Error("the connection has ended before the work")
			}
		})
		if !ended {
			t.Error("the connection goes on after the work")
		}
	})
}
