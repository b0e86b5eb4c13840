package figures

import (
	"strings"
	"time"
)

// Value is one value of a metric.
type Value struct {
	Labels    []string
	Number    float64    // of a counter or a gauge
	Histogram *Histogram // of a histogram, else nil
}

func number[N uint64 | int | float64](n N) []Value { return []Value{{Number: float64(n)}} }

func distribution(h Histogram) []Value { return []Value{{Histogram: &h}} }

// Sum adds up the numbers of some values.
func Sum(values []Value) (sum float64) {
	for _, v := range values {
		sum += v.Number
	}
	return sum
}

// By adds up the numbers of some values by their first label, "" where they have no label.
func By(values []Value) map[string]float64 {
	sums := map[string]float64{}
	for _, v := range values {
		label := ""
		if len(v.Labels) > 0 {
			label = v.Labels[0]
		}
		sums[label] += v.Number
	}
	return sums
}

// Merge adds up the histograms of some values.
func Merge(values []Value) (sum Histogram) {
	for _, v := range values {
		sum.Add(*v.Histogram)
	}
	return sum
}

// together reads all workers, and adds up values with the same labels.
func together(of func(*Counters) []Value) func(*Memory) []Value {
	return func(m *Memory) (sums []Value) {
		places := map[string]int{}
		for slot := range m.slots {
			for _, v := range of(m.Counters(slot)) {
				labels := strings.Join(v.Labels, "\x00")
				i, known := places[labels]
				if !known {
					places[labels] = len(sums)
					sums = append(sums, v)
					continue
				}
				sums[i].Number += v.Number
				if v.Histogram != nil {
					sums[i].Histogram.Add(*v.Histogram)
				}
			}
		}
		return sums
	}
}

// readRunning counts the workers that run.
func readRunning(m *Memory) []Value {
	running := 0
	for slot := range m.slots {
		running += len(m.Running(slot))
	}
	return number(running)
}

// readSnapshotAge returns the age of the oldest stock that a worker has, nothing before the first.
func readSnapshotAge(m *Memory) []Value {
	oldest := int64(0)
	for slot := range m.slots {
		for _, g := range m.Running(slot) {
			if read := g.StockRead.Value(); read > 0 && (oldest == 0 || read < oldest) {
				oldest = read
			}
		}
	}
	if oldest == 0 {
		return nil
	}
	return number(Age(time.Unix(0, oldest), time.Now()))
}

// Age is the time since then in seconds. It is not below 0: clocks are set back.
func Age(then, now time.Time) float64 { return max(now.Sub(then), 0).Seconds() }
