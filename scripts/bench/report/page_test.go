package report

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"flashsale/scripts/bench/load"
)

func TestRoundSteps(t *testing.T) {
	tests := []struct {
		high float64
		want []float64
	}{
		{0, []float64{0, 1}},
		{1, []float64{0, 1}},
		{8, []float64{0, 1, 2, 3, 4, 5, 6, 7, 8}},
		{9, []float64{0, 2, 4, 6, 8, 10}},
		{35, []float64{0, 5, 10, 15, 20, 25, 30, 35}},
		{1234, []float64{0, 200, 400, 600, 800, 1000, 1200, 1400}},
	}
	for _, test := range tests {
		if got := roundSteps(test.high); !reflect.DeepEqual(got, test.want) {
			t.Errorf("roundSteps(%v) = %v, want %v", test.high, got, test.want)
		}
	}
}

func TestDecades(t *testing.T) {
	tests := []struct {
		low, high float64
		want      []float64
	}{
		{0.02, 35, []float64{0.01, 0.1, 1, 10, 100}},
		{1, 100, []float64{1, 10, 100}},
		{10, 10, []float64{10, 100}},
	}
	for _, test := range tests {
		if got := decades(test.low, test.high); !reflect.DeepEqual(got, test.want) {
			t.Errorf("decades(%v, %v) = %v, want %v", test.low, test.high, got, test.want)
		}
	}
}

func TestAxis(t *testing.T) {
	tests := []struct {
		axis  axis
		value float64
		want  float64
	}{
		{axis{low: 0, high: 10, from: 100, to: 200}, 2.5, 125},
		{axis{low: 0, high: 10, from: 200, to: 100}, 2.5, 175},
		{axis{low: 0.1, high: 1000, from: 0, to: 400, log: true}, 1, 100},
	}
	for _, test := range tests {
		if got := test.axis.at(test.value); got != test.want {
			t.Errorf("%+v: %v is at %v, want %v", test.axis, test.value, got, test.want)
		}
	}
}

func TestPlacedChart(t *testing.T) {
	c := placedChart(&load.Report{PlacedBySecond: []int64{4, 8, 2}, ElapsedSeconds: 2.5})
	wide := (plotRight - plotLeft) / 3
	var heights []float64
	for i, b := range c.Bars {
		heights = append(heights, b.Height/(plotBottom-plotTop))
		if b.Left-plotLeft-float64(i)*wide > 0.01 || b.Top+b.Height != plotBottom || b.Part != (i == 2) {
			t.Errorf("bar %d = %+v", i, b)
		}
	}
	if !reflect.DeepEqual(heights, []float64{0.5, 1, 0.25}) || c.Bars[1].Title != "second 2: 8 orders" {
		t.Errorf("bars = %+v", c.Bars)
	}
}

func TestGrouped(t *testing.T) {
	for number, want := range map[string]string{"0": "0", "999": "999", "1000": "1,000", "123456": "123,456",
		"1234567.89": "1,234,567.89", "0.001": "0.001"} {
		if got := grouped(number); got != want {
			t.Errorf("grouped(%s) = %s, want %s", number, got, want)
		}
	}
}

// oneSecond is a load of one second with one order and one refusal in it.
func oneSecond() *load.Report {
	t := load.NewTally()
	t.Time(load.StepOrder, 10*time.Millisecond, 300*time.Millisecond)
	t.Place(300 * time.Millisecond)
	t.Refuse(load.StepOrder, "FOOD_OUT_OF_STOCK", 400*time.Millisecond)
	return load.Result{Tally: t, Elapsed: time.Second / 2}.Report()
}

// A line through one point shows nothing, so the point is drawn.
func TestChartsDrawOnePoint(t *testing.T) {
	l := oneSecond()
	alone := load.RampStep{Offered: 100, Goodput: 90, Latency: l.Latency}
	for _, c := range append(rampCharts(&load.RampReport{Steps: []load.RampStep{alone}}), orderChart(l),
		refusalChart(l), latencyChart(l.Latency[:5])) {
		if len(c.Lines) == 0 {
			t.Errorf("%s: no line", c.Title)
		}
		for _, line := range c.Lines {
			if dots := line.Dots(); len(dots) != 1 || len(line.Points) != 1 || dots[0].X < plotLeft ||
				dots[0].X > plotRight ||
				dots[0].Y < plotTop || dots[0].Y > plotBottom {
				t.Errorf("%s, line %s: points %v, dots %v", c.Title, line.Name, line.Points, dots)
			}
		}
	}
	var out strings.Builder
	if err := (&Report{Load: l}).WritePage(&out, time.Now()); err != nil ||
		strings.Count(out.String(), "<circle") != 5 || strings.Contains(out.String(), "NaN") {
		t.Errorf("%v, page\n%s", err, out.String())
	}
}

func TestOrderChartIsBySecond(t *testing.T) {
	full := load.NewTally()
	for second, micros := range []int{100, 0, 10_000} {
		for range 50 * min(micros, 1) {
			full.Time(load.StepOrder, time.Duration(micros)*time.Microsecond,
				time.Duration(second)*time.Second)
		}
	}
	c := orderChart(load.Result{Tally: full, Elapsed: 3 * time.Second}.Report())
	// Decades from 0.01 to 100 ms; nothing in the second second.
	for _, line := range c.Lines {
		if len(line.Points) != 2 || line.Points[0].X != 198.33 || line.Points[1].X != 711.67 ||
			line.Points[0].Y-line.Points[1].Y < 100 {
			t.Errorf("line %s: %v", line.Name, line.Points)
		}
	}
	if len(c.Lines) != 3 || c.X[len(c.X)-1].Label != "3" {
		t.Errorf("chart = %+v", c)
	}
}

func TestRefusalChartIsBySecond(t *testing.T) {
	full := load.NewTally()
	for i, code := range []string{"A", "B", "C", "D", "E", "F", "G"} {
		for range 10 - i {
			full.Refuse(load.StepAdd, code, 2*time.Second)
		}
	}
	for range 20 {
		full.Fail(load.StepOrder, "timeout", 0)
	}
	l := load.Result{Tally: full, Elapsed: 3 * time.Second}.Report()
	l.PlacedBySecond = l.PlacedBySecond.Extend(3)
	c := refusalChart(l)
	var names []string
	for _, line := range c.Lines {
		names = append(names, line.Name)
	}
	if got := strings.Join(names, ", "); got != "order timeout, add A, add B, add C, add D, all others" {
		t.Errorf("lines %s", got)
	}
	// Up to 20: the time-outs all in the first second, of all others 6 + 5 + 4 in the last one.
	first, others := c.Lines[0].Points, c.Lines[5].Points
	if first[0].Y != plotTop || first[1].Y != plotBottom || others[0].Y != plotBottom || others[2].Y != 73 {
		t.Errorf("time-outs %v, others %v", first, others)
	}
}

func TestLatencyChart(t *testing.T) {
	full := load.NewTally()
	for micros := range 1000 {
		full.Time(load.StepOrder, time.Duration(micros+1)*time.Microsecond, 0)
	}
	all := load.Result{Tally: full, Elapsed: time.Second}.Report().Latency
	rows := []load.StepLatency{all[load.StepLogin], all[load.StepOrder]}
	c := latencyChart(rows)
	if len(c.Lines) != 1 || c.Lines[0].Name != "order" {
		t.Fatalf("lines = %+v", c.Lines)
	}
	// From the least, 1 us, at the left to the greatest, 1 ms, at the right: three decades.
	if p := c.Lines[0].Join(); !strings.HasPrefix(p, "70,256 ") || !strings.HasSuffix(p, " 840,12") ||
		strings.Count(p, " ") < percentilePoints/2 {
		t.Errorf("points = %s", p)
	}
	var labels []string
	for _, tick := range append(c.X, c.Y...) {
		labels = append(labels, tick.Label)
	}
	if got := strings.Join(labels, " "); got != "0% 50% 90% 99% 99.9% 0.001 0.01 0.1 1" {
		t.Errorf("ticks = %s", got)
	}
	if empty := latencyChart(rows[:1]); len(empty.Lines) != 0 {
		t.Errorf("without a value: %+v", empty)
	}
}

func TestPageOfRamp(t *testing.T) {
	row := func(p99 int64) []load.StepLatency {
		rows := make([]load.StepLatency, load.StepCount+1)
		for i := range rows {
			rows[i].P99 = p99
		}
		return rows
	}
	first := load.RampStep{Offered: 1000, Goodput: 999, Latency: row(2000)}
	rep := Report{Servers: []string{"<a>"}, Ramp: &load.RampReport{Knee: &first,
		Ended: "for want of <users>",
		Steps: []load.RampStep{first, {Offered: 2000, Goodput: 1500, Latency: row(90_000)}}}}
	var out strings.Builder
	if err := rep.WritePage(&out, time.Date(2015, 11, 11, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Knee: 999 orders/s. Ended: for want of &lt;users&gt;", "&lt;a&gt;",
		"2015-11-11 00:00:00 UTC",
		`points="455,134 840,12"`, `points="455,134.12 840,73"`,
		"<td>2,000</td><td>1,500</td><td>0.00</td><td>90.00</td>"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
