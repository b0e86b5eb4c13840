package figures

import "time"

// bucketsMax is the number of buckets of a histogram, the last one without an upper bound.
const bucketsMax = 16

// DurationBounds are the upper bounds of the buckets of Durations, in nanoseconds.
var DurationBounds = [bucketsMax - 1]int64{100e3, 250e3, 500e3, 1e6, 2500e3, 5e6, 10e6, 25e6, 50e6, 100e6,
	250e6, 500e6, 1e9, 2500e6, 5e9}

// SizeBounds are the upper bounds of the buckets of Sizes.
var SizeBounds = [...]int64{1, 2, 4, 8, 16, 32, 64, 128, 256}

// Durations is a histogram of times.
type Durations struct{ histogram }

// Observe counts a time. A time below 0, from a clock that was set back, counts as 0.
func (d *Durations) Observe(took time.Duration) { d.observe(DurationBounds[:], max(int64(took), 0)) }

// Read returns the sum in nanoseconds and the counts by upper bound: cumulative, as Prometheus has them.
func (d *Durations) Read() Histogram { return d.read(DurationBounds[:]) }

// Sizes is a histogram of numbers of calls.
type Sizes struct{ histogram }

// Observe counts a size.
func (s *Sizes) Observe(size int) { s.observe(SizeBounds[:], int64(size)) }

// Read returns the sum and the counts by upper bound.
func (s *Sizes) Read() Histogram { return s.read(SizeBounds[:]) }

type histogram struct {
	buckets [bucketsMax]Counter // the values above the bound of the bucket before
	sum     Counter
}

func (h *histogram) observe(bounds []int64, value int64) {
	i := 0
	for i < len(bounds) && value > bounds[i] {
		i++
	}
	h.buckets[i].Inc()
	h.sum.Add(uint64(value))
}

// Histogram is what a histogram held at one moment.
type Histogram struct {
	Bounds     []int64
	Cumulative [bucketsMax]uint64 // by bound: how many values are at most that
	Count      uint64
	Sum        uint64
}

func (h *histogram) read(bounds []int64) Histogram {
	r := Histogram{Bounds: bounds, Sum: h.sum.Value()}
	for i := range len(bounds) + 1 {
		r.Count += h.buckets[i].Value()
		r.Cumulative[i] = r.Count
	}
	return r
}

// Add adds the values of another histogram with the same bounds, or without any value.
func (h *Histogram) Add(other Histogram) {
	if h.Bounds == nil {
		h.Bounds = other.Bounds
	}
	h.Count += other.Count
	h.Sum += other.Sum
	for i, n := range other.Cumulative {
		h.Cumulative[i] += n
	}
}

// Since returns the values that came after an earlier reading of the same histogram.
func (h Histogram) Since(earlier Histogram) Histogram {
	h.Count -= earlier.Count
	h.Sum -= earlier.Sum
	for i, n := range earlier.Cumulative {
		h.Cumulative[i] -= n
	}
	return h
}

// Quantile is the value below which this share of the values lies: within a bucket they count as spread
// evenly, beyond the last bound as that bound, as Prometheus has it. ok is false without a value.
func (h Histogram) Quantile(share float64) (value float64, ok bool) {
	rank, low, below := share*float64(h.Count), 0.0, 0.0
	for i, bound := range h.Bounds {
		high, count := float64(bound), float64(h.Cumulative[i])
		if count >= rank && count > below {
			return low + (high-low)*(rank-below)/(count-below), true
		}
		low, below = high, count
	}
	return low, h.Count > 0
}
