package main

import "slices"

// spread is the middle and the ends of some numbers.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// newSpread needs at least one number; the median of an even number of them is the mean of the middle two.
func newSpread(numbers []float64) spread {
	sorted := slices.Sorted(slices.Values(numbers))
	n := len(sorted)
	return spread{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Min: sorted[0], Max: sorted[n-1]}
}

// median is the median of a figure over the trials.
func median(trials []trial, figure func(trial) float64) float64 {
	return newSpread(figures(trials, figure)).Median
}

func figures(trials []trial, figure func(trial) float64) []float64 {
	numbers := make([]float64, len(trials))
	for i, t := range trials {
		numbers[i] = figure(t)
	}
	return numbers
}

// ratio divides a figure by the base's of the same round: what slows the machine for a minute slows both.
func ratio(trials, base []trial, figure func(trial) float64) spread {
	numbers := figures(trials, figure)
	for i, of := range figures(base, figure) {
		numbers[i] /= of
	}
	return newSpread(numbers)
}
