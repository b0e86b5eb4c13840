package main

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"flashsale/scripts/bench/load"
)

const (
	percentilePoints = 200 // of a line over percentiles
	refusalLinesMax  = 6   // one for each colour of page.js
)

// chart is a picture as page.js draws it.
type chart struct {
	Title, X, Y string
	Bars        bool // columns instead of lines, each to the right of its x
	Logarithmic bool // the scale of y
	Percentiles bool // x counts nines: 1 is 90%, 2 is 99%
	Lines       []string
	Data        [][]*float64 // the x values, then the values of each line; nil = no value
}

// charts are the pictures of a load.
func charts(l *load.Report) []chart {
	all := []chart{placedChart(l), orderChart(l), latencyChart(l.Latency)}
	if len(l.Refusals)+len(l.Faults) > 0 {
		all = append(all, refusalChart(l))
	}
	return all
}

// secondsChart is a chart over the seconds of a load.
func secondsChart(title, y string, seconds int) chart {
	places := make([]*float64, seconds)
	for i := range places {
		places[i] = new(float64(i))
	}
	return chart{Title: title + ", by second", X: "seconds since the load began", Y: y,
		Data: [][]*float64{places}}
}

// draw adds a line; value returns nil for a gap.
func (c *chart) draw(name string, value func(i int) *float64) {
	values := make([]*float64, len(c.Data[0]))
	for i := range values {
		values[i] = value(i)
	}
	c.Lines, c.Data = append(c.Lines, name), append(c.Data, values)
}

func placedChart(l *load.Report) chart {
	c := secondsChart("Orders placed", "orders/s", len(l.PlacedBySecond))
	c.Bars = true
	c.draw("placed", func(i int) *float64 { return new(float64(l.PlacedBySecond[i])) })
	return c
}

// orderChart draws the latency of the orders answered in each second.
func orderChart(l *load.Report) chart {
	c := secondsChart("Latency of orders", "ms", len(l.OrderBySecond))
	c.Logarithmic = true
	for _, line := range []struct {
		name string
		of   func(load.StepLatency) int64
	}{{"p50", func(s load.StepLatency) int64 { return s.P50 }},
		{"p99", func(s load.StepLatency) int64 { return s.P99 }},
		{"max", func(s load.StepLatency) int64 { return s.Max }}} {
		c.draw(line.name, func(i int) *float64 {
			if l.OrderBySecond[i].Count == 0 {
				return nil
			}
			return new(load.Millis(line.of(l.OrderBySecond[i])))
		})
	}
	return c
}

// refusalChart draws the refusals and faults in each second: the most frequent kinds, and the others as one
// line.
func refusalChart(l *load.Report) chart {
	seconds := len(l.PlacedBySecond)
	c := secondsChart("Refusals and transport errors", "requests/s", seconds)
	events := slices.Concat(l.Refusals, l.Faults)
	slices.SortStableFunc(events, func(a, b load.EventCount) int { return cmp.Compare(b.Count, a.Count) })
	if len(events) > refusalLinesMax {
		others := load.EventCount{Name: "all others"}
		for _, e := range events[refusalLinesMax-1:] {
			others.Seconds = others.Seconds.Merge(e.Seconds)
		}
		events = append(events[:refusalLinesMax-1], others)
	}
	for _, e := range events {
		counts := e.Seconds.Extend(seconds)
		c.draw(strings.TrimSpace(e.Step+" "+e.Name), func(i int) *float64 { return new(float64(counts[i])) })
	}
	return c
}

// latencyChart draws latency by percentile as HdrHistogram plots do: each step to the right is ten times
// rarer. A line ends at the percentile of the greatest value.
func latencyChart(latency []load.StepLatency) chart {
	c := chart{Title: "Latency, by percentile", X: "percentile", Y: "ms", Logarithmic: true, Percentiles: true}
	end := 1.0
	for _, s := range latency {
		end = max(end, math.Log10(float64(max(1, s.Count))))
	}
	places := make([]*float64, percentilePoints+1)
	for i := range places {
		places[i] = new(end * float64(i) / percentilePoints)
	}
	c.Data = [][]*float64{places}
	for _, s := range latency {
		if s.Count == 0 {
			continue
		}
		last := math.Log10(float64(s.Count))
		c.draw(s.Step, func(i int) *float64 {
			nines := *places[i]
			if nines > last && i > 0 {
				return nil
			}
			return new(load.Millis(s.Histogram.ValueAtPercentile(100 * (1 - math.Pow(10, -nines)))))
		})
	}
	return c
}
