package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"flashsale/scripts/bench/load"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// percentilePoints is the limit of points of a line over percentiles.
const percentilePoints = 200

// refusalLinesMax is the limit of lines in the chart of refusals, one for each colour.
const refusalLinesMax = 6

// secondsChart is a chart over the seconds of a load, without its content.
func secondsChart(title, yLabel string, seconds int) (chart, axis) {
	c := chart{Title: title + ", by second", XLabel: "seconds since the load began", YLabel: yLabel}
	x := xAxis(0, float64(seconds))
	for _, tick := range x.ticks(roundSteps(x.high)) {
		if tick.At <= plotRight {
			c.X = append(c.X, tick)
		}
	}
	return c, x
}

// placedChart draws the orders placed in each second.
func placedChart(l *load.Report) chart {
	c, x := secondsChart("Orders placed", "orders/s", len(l.PlacedBySecond))
	tops := roundSteps(float64(max(1, load.BestSecond(l.PlacedBySecond))))
	y := yAxis(0, tops[len(tops)-1], false)
	c.Y = y.ticks(tops)
	for i, n := range l.PlacedBySecond {
		left, right, top := x.at(float64(i)), x.at(float64(i+1)), y.at(float64(n))
		c.Bars = append(c.Bars, bar{Left: left, Top: top, Width: max(1, right-left-1),
			Height: plotBottom - top,
			Title:  fmt.Sprintf("second %d: %s orders", i+1, grouped(fmt.Sprint(n))),
			Part:   float64(i+1) > l.ElapsedSeconds})
	}
	return c
}

// orderChart draws how long the orders took that were answered in each second.
func orderChart(l *load.Report) chart {
	c, x := secondsChart("Latency of orders", "ms", len(l.OrderBySecond))
	var at, p50, p99, most []float64
	for i, s := range l.OrderBySecond {
		if s.Count > 0 {
			at = append(at, float64(i)+0.5)
			p50, p99, most = append(p50, load.Millis(s.P50)), append(p99, load.Millis(s.P99)),
				append(most, load.Millis(s.Max))
		}
	}
	if len(at) == 0 {
		return c
	}
	scale := decades(slices.Min(p50), slices.Max(most))
	y := yAxis(scale[0], scale[len(scale)-1], true)
	c.Y = y.ticks(scale)
	c.Lines = []line{{"p50", points(x, y, at, p50)}, {"p99", points(x, y, at, p99)},
		{"max", points(x, y, at, most)}}
	return c
}

// refusalChart draws what was refused or failed in each second: the most frequent ones, and the others as
// one line.
func refusalChart(l *load.Report) chart {
	c, x := secondsChart("Refusals and transport errors", "requests/s", len(l.PlacedBySecond))
	events := slices.Concat(l.Refusals, l.Faults)
	slices.SortStableFunc(events, func(a, b load.EventCount) int { return cmp.Compare(b.Count, a.Count) })
	if len(events) > refusalLinesMax {
		others := load.EventCount{Name: "all others"}
		for _, e := range events[refusalLinesMax-1:] {
			others.Seconds = others.Seconds.Merge(e.Seconds)
		}
		events = append(events[:refusalLinesMax-1], others)
	}
	most := int64(1)
	for i := range events {
		events[i].Seconds = events[i].Seconds.Extend(len(l.PlacedBySecond))
		most = max(most, slices.Max(events[i].Seconds))
	}
	tops := roundSteps(float64(most))
	y := yAxis(0, tops[len(tops)-1], false)
	c.Y = y.ticks(tops)
	for _, e := range events {
		var at, counts []float64
		for i, n := range e.Seconds {
			at, counts = append(at, float64(i)+0.5), append(counts, float64(n))
		}
		c.Lines = append(c.Lines, line{strings.TrimSpace(e.Step + " " + e.Name), points(x, y, at, counts)})
	}
	return c
}

// latencyChart draws latency by percentile as HdrHistogram plots do: each step to the right is ten times
// rarer.
func latencyChart(latency []load.StepLatency) chart {
	c := chart{Title: "Latency, by percentile", XLabel: "percentile", YLabel: "ms"}
	shown := slices.DeleteFunc(slices.Clone(latency), func(s load.StepLatency) bool { return s.Count == 0 })
	if len(shown) == 0 {
		return c
	}
	nines, low, high := 0.0, math.Inf(1), 0.0
	for _, s := range shown {
		nines = max(nines, math.Log10(float64(s.Count)))
		low, high = min(low, load.Millis(s.Histogram.Min())), max(high, load.Millis(s.Histogram.Max()))
	}
	scale := decades(low, high)
	x, y := xAxis(0, max(1, nines)), yAxis(scale[0], scale[len(scale)-1], true)
	c.Y = y.ticks(scale)
	for i, label := range []string{"0%", "90%", "99%", "99.9%", "99.99%", "99.999%", "99.9999%"} {
		if float64(i) <= x.high {
			c.X = append(c.X, tick{x.at(float64(i)), label})
		}
	}
	c.X = slices.Insert(c.X, 1, tick{x.at(math.Log10(2)), "50%"})
	for _, s := range shown {
		c.Lines = append(c.Lines, line{s.Step, percentileLine(s.Histogram, x, y)})
	}
	return c
}

// percentileLine goes on to the percentile at which only one value is left, the greatest.
func percentileLine(h *hdrhistogram.Histogram, x, y axis) []point {
	end := math.Log10(float64(h.TotalCount()))
	if end == 0 {
		return points(x, y, []float64{0}, []float64{load.Millis(h.Max())})
	}
	var xs, ys []float64
	for i := range percentilePoints + 1 {
		nines := end * float64(i) / percentilePoints
		xs = append(xs, nines)
		ys = append(ys, load.Millis(h.ValueAtPercentile(100*(1-math.Pow(10, -nines)))))
	}
	ys[0] = load.Millis(h.Min())
	ys[percentilePoints] = load.Millis(h.Max())
	return points(x, y, xs, ys)
}

// rampCharts draw what was placed and how long it took against the rate offered.
func rampCharts(r *load.RampReport) []chart {
	placed := chart{Title: "Orders placed, by rate offered", XLabel: "flows/s offered", YLabel: "orders/s"}
	slow := chart{Title: "p99, by rate offered", XLabel: "flows/s offered", YLabel: "ms"}
	var offered, goodput, order, flow []float64
	for _, s := range r.Steps {
		if s.Repeated {
			continue
		}
		offered, goodput = append(offered, s.Offered), append(goodput, s.Goodput)
		order = append(order, load.Millis(max(1, s.Latency[load.StepOrder].P99)))
		flow = append(flow, load.Millis(max(1, s.Latency[load.StepCount].P99)))
	}
	if len(offered) == 0 {
		return nil
	}
	rates := roundSteps(slices.Max(append(offered, goodput...)))
	x, y := xAxis(0, rates[len(rates)-1]), yAxis(0, rates[len(rates)-1], false)
	placed.X, placed.Y = x.ticks(rates), y.ticks(rates)
	placed.Lines = []line{{"all that was offered", points(x, y, offered, offered)},
		{"placed", points(x, y, offered, goodput)}}
	both := append(slices.Clone(order), flow...)
	scale := decades(slices.Min(both), slices.Max(both))
	y = yAxis(scale[0], scale[len(scale)-1], true)
	slow.X, slow.Y = x.ticks(rates), y.ticks(scale)
	slow.Lines = []line{{load.StepOrder.String(), points(x, y, offered, order)},
		{load.FlowRow, points(x, y, offered, flow)}}
	return []chart{placed, slow}
}
