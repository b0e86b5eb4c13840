package load

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestPoissonArrivals(t *testing.T) {
	const n, rate = 100_000, 500.0
	starts := PoissonArrivals(n, rate, 7, 0)
	if len(starts) != n || !slices.IsSorted(starts) ||
		!slices.Equal(starts, PoissonArrivals(n, rate, 7, 0)) {
		t.Fatalf("%d starts, or not sorted, or not the same for the same seed", len(starts))
	}
	if slices.Equal(starts[:10], PoissonArrivals(10, rate, 8, 0)) {
		t.Error("another seed gives the same starts")
	}
	// Mean and standard deviation of the gaps of a Poisson process are both 1/rate; 2% are six standard
	// errors.
	var sum, squares float64
	last := time.Duration(0)
	for _, start := range starts {
		gap := (start - last).Seconds()
		sum, squares, last = sum+gap, squares+gap*gap, start
	}
	mean := sum / n
	deviation := math.Sqrt(squares/n - mean*mean)
	if math.Abs(mean*rate-1) > 0.02 || math.Abs(deviation*rate-1) > 0.02 {
		t.Errorf("gaps have mean %v and deviation %v, want %v", mean, deviation, 1/rate)
	}
	limit := starts[1000]
	if cut := PoissonArrivals(n, rate, 7, limit); !slices.Equal(cut, starts[:1000]) {
		t.Errorf("%d starts before %v, want 1000", len(cut), limit)
	}
}

func TestAwaitStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		for _, test := range []struct {
			intended, at time.Duration // since began
			want         lateness
		}{
			{3 * time.Millisecond, 3 * time.Millisecond, lateness{free: true}},
			{time.Millisecond, 3 * time.Millisecond, lateness{by: 2 * time.Millisecond}},
			{10 * time.Millisecond, 10 * time.Millisecond, lateness{free: true}},
			{10 * time.Millisecond, 10 * time.Millisecond, lateness{}},
		} {
			late, ok := await(ctx, began.Add(test.intended))
			if !ok || late != test.want || time.Since(began) != test.at {
				t.Errorf("meant %v: went at %v, %+v, %t", test.intended, time.Since(began), late, ok)
			}
		}
		time.AfterFunc(time.Second, cancel)
		if _, ok := await(ctx, began.Add(time.Hour)); ok || time.Since(began) > 2*time.Second {
			t.Errorf("waited %v after the end", time.Since(began))
		}
		if _, ok := await(ctx, began); ok {
			t.Error("starts after the end")
		}
	})
}
