package limits

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx"
)

func TestAdds(t *testing.T) {
	a := NewAdds(redisx.Users{Catalogue: 10, Registered: 1}, 3)
	now := time.Unix(60_000, 0)
	for _, step := range []struct {
		user uint32
		at   time.Duration
		want time.Duration
	}{
		{7, 0, 0}, {7, time.Second, 0}, {7, time.Second, 0}, {7, 20 * time.Second, 40 * time.Second},
		{8, 20 * time.Second, 0}, {7, time.Minute, 0}, {11, 0, 0},
		{redisx.FirstRegistered, 0, 0}, {redisx.FirstRegistered, 0, 0}, {redisx.FirstRegistered, 0, 0},
		{redisx.FirstRegistered, 0, time.Minute}, {redisx.FirstRegistered + 1, 0, 0},
	} {
		look, wait := a.Wait(step.user, now.Add(step.at)), a.Add(step.user, now.Add(step.at))
		if look != step.want || wait != step.want {
			t.Errorf("user %d after %v: waits %v, %v at a look; want %v", step.user, step.at, wait, look, step.want)
		}
	}
	if wait := NewAdds(redisx.Users{Catalogue: 10}, 0).Add(7, now); wait != 0 {
		t.Errorf("without a bound: waits %v", wait)
	}
}

// A time of the minute before counts in the new one. A clock that was put back begins anew.
func TestAddsBackInTime(t *testing.T) {
	a, now := NewAdds(redisx.Users{Catalogue: 10}, 3), time.Unix(60_000, 0)
	for i, step := range []struct{ at, want time.Duration }{
		{0, 0}, {-time.Millisecond, 0}, {0, 0}, {time.Second, 59 * time.Second},
		{-time.Second, 61 * time.Second}, {0, time.Minute}, {-time.Hour, 0},
	} {
		if wait := a.Add(7, now.Add(step.at)); wait != step.want {
			t.Errorf("step %d: waits %v, want %v", i, wait, step.want)
		}
	}
}

// Exactly the bound passes, however many add at once.
func TestAddsAtOnce(t *testing.T) {
	a, now := NewAdds(redisx.Users{Catalogue: 1}, 120), time.Unix(60_000, 0)
	var passed atomic.Int64
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for range 100 {
				if a.Add(1, now) == 0 {
					passed.Add(1)
				}
			}
		})
	}
	running.Wait()
	if passed.Load() != 120 {
		t.Errorf("%d passed, want 120", passed.Load())
	}
	if n := testkit.Allocations(func() { a.Add(1, now) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
