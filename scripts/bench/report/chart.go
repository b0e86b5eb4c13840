package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Size of a chart in SVG units, and of the plot within it.
const (
	chartWidth  = 860.0
	chartHeight = 300.0
	plotLeft    = 70.0
	plotRight   = chartWidth - 20
	plotTop     = 12.0
	plotBottom  = chartHeight - 44

	dotsMax = 32
)

// chart is a picture as the page's template draws it: everything in SVG units already.
type chart struct {
	Title, XLabel, YLabel string
	X, Y                  []tick
	Bars                  []bar
	Lines                 []line
}

// tick is a grid line and its label.
type tick struct {
	At    float64
	Label string
}

// bar stands on the x axis.
type bar struct {
	Left, Top, Width, Height float64
	Title                    string // shown under the pointer
	Part                     bool   // of a second that was not whole
}

// line joins points; its colour goes by its place in the chart.
type line struct {
	Name   string
	Points []point
}

type point struct{ X, Y float64 }

// Join is the value of a polyline's attribute points.
func (l line) Join() string {
	var b strings.Builder
	for _, p := range l.Points {
		fmt.Fprintf(&b, "%g,%g ", p.X, p.Y)
	}
	return strings.TrimSuffix(b.String(), " ")
}

// Dots are the points to mark: all of a line with few of them, above all the only one, which no line would
// show.
func (l line) Dots() []point {
	if len(l.Points) > dotsMax {
		return nil
	}
	return l.Points
}

// axis maps values onto a length.
type axis struct {
	low, high float64 // values at the ends
	from, to  float64 // SVG units at the ends
	log       bool
}

func xAxis(low, high float64) axis { return axis{low: low, high: high, from: plotLeft, to: plotRight} }
func yAxis(low, high float64, log bool) axis {
	return axis{low: low, high: high, from: plotBottom, to: plotTop, log: log}
}

func (a axis) at(value float64) float64 {
	low, high := a.low, a.high
	if a.log {
		low, high, value = math.Log10(low), math.Log10(high), math.Log10(value)
	}
	at := a.from + (value-low)/(high-low)*(a.to-a.from)
	return math.Round(at*100) / 100
}

// points draws values against each other, those at the same place once.
func points(x, y axis, xs, ys []float64) []point {
	var all []point
	for i := range xs {
		all = append(all, point{x.at(xs[i]), y.at(ys[i])})
	}
	return slices.Compact(all)
}

// ticks labels the values given.
func (a axis) ticks(values []float64) []tick {
	ticks := make([]tick, len(values))
	for i, v := range values {
		ticks[i] = tick{a.at(v), grouped(fmt.Sprintf("%.12g", v))}
	}
	return ticks
}

// grouped puts commas between the thousands of a decimal number that is not negative.
func grouped(number string) string {
	whole, rest, fraction := strings.Cut(number, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction {
		whole += "." + rest
	}
	return whole
}

// roundSteps are some four to nine round values from 0 to high or a little more, at distances of 1, 2 or 5
// times a power of ten and never less than 1.
func roundSteps(high float64) []float64 {
	step := 1.0
	for grow := []float64{2, 2.5, 2}; high/step > 8; {
		step *= grow[0]
		grow = append(grow[1:], grow[0])
	}
	values := []float64{0}
	for v := step; ; v += step {
		values = append(values, v)
		if v >= high {
			return values
		}
	}
}

// decades are the powers of ten from the one at or below low to the one at or above high, at least two.
func decades(low, high float64) []float64 {
	first, last := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	values := []float64{}
	for exponent := first; exponent <= max(last, first+1); exponent++ {
		values = append(values, math.Pow(10, exponent))
	}
	return values
}
