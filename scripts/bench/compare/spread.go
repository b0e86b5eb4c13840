package compare

import "slices"

// Spread is the middle and the ends of some numbers.
type Spread struct {
	Median float64
	Min    float64
	Max    float64
}

// NewSpread needs at least one number; the median of an even number of them is the mean of the middle two.
func NewSpread(numbers []float64) Spread {
	sorted := slices.Sorted(slices.Values(numbers))
	n := len(sorted)
	return Spread{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Min: sorted[0], Max: sorted[n-1]}
}

// median is the median of a figure over the trials.
func median(trials []Trial, figure func(Trial) float64) float64 {
	return NewSpread(figures(trials, figure)).Median
}

func figures(trials []Trial, figure func(Trial) float64) []float64 {
	numbers := make([]float64, len(trials))
	for i, t := range trials {
		numbers[i] = figure(t)
	}
	return numbers
}

// ratio divides a figure by the base's of the same round, because what slows the machine for a minute slows
// both.
func ratio(trials, base []Trial, figure func(Trial) float64) Spread {
	numbers := figures(trials, figure)
	for i, of := range figures(base, figure) {
		numbers[i] /= of
	}
	return NewSpread(numbers)
}
