package compare

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/scripts/bench/sale"
)

func TestSoakReportFindsGrowth(t *testing.T) {
	const orders = 1 << 20 // the store may grow by 2/3 x 256 MB
	server := func(m Measure) gauge { return gauge{"flashsale 7", false, m} }
	tests := map[string]struct {
		change  func(i int, s sample)
		seconds float64
		want    []string // examples of the two checks
	}{
		"steady": {func(int, sample) {}, memorySeconds, nil},
		"a spike": {func(i int, s sample) { s[server(memory)] += map[bool]float64{true: 900}[i == 95] },
			memorySeconds, nil},
		"shrinks":       {func(i int, s sample) { s[server(files)] -= float64(i) }, memorySeconds, nil},
		"within limits": {func(i int, s sample) { s[server(memory)] += 0.08 * float64(i) }, memorySeconds, nil},
		"too short":     {func(i int, s sample) { s[server(memory)] += float64(i) }, memorySeconds - 1, nil},
		"memory": {func(i int, s sample) { s[server(memory)] += 0.2 * float64(i) }, memorySeconds, []string{
			"flashsale 7: memory, MB 24.9 in the first third, 36.9 in the last one, at most 31.4 are allowed"}},
		"store": {func(i int, s sample) { s[gauge{"redis-server 8", true, memory}] = 10 * float64(i) },
			memorySeconds, []string{"redis-server 8: memory, MB 245.0 in the first third, 845.0 in the last one, " +
				"at most 444.2 are allowed"}},
		"threads": {func(i int, s sample) { s[server(threads)] += float64(i / 10) }, memorySeconds, []string{
			"flashsale 7: threads 10.0 in the first third, 16.0 in the last one, at most 14.0 are allowed"}},
		"came late": {func(i int, s sample) {
			if i < 10 {
				delete(s, server(files))
			}
		}, memorySeconds, nil},
		"ended": {func(i int, s sample) {
			if i > 50 {
				delete(s, server(files))
			}
		}, memorySeconds, []string{"flashsale 7: files in 41 of 90 samples"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			samples := steady(100)
			for i, s := range samples {
				test.change(i, s)
			}
			rep, err := newSoakReport(samples, orders)
			testkit.Must(t, err)
			rep.Seconds = test.seconds
			var got []string
			for _, c := range rep.Checks() {
				got = append(got, c.Examples...)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if _, err := newSoakReport(steady(2), orders); !errors.Is(err, sale.ErrUsage) {
		t.Errorf("two samples: %v", err)
	}
}

// steady are n samples of a server that does not grow.
func steady(n int) []sample {
	samples := make([]sample, n)
	for i := range samples {
		samples[i] = sample{
			{"flashsale 7", false, memory}: 20, {"flashsale 7", false, threads}: 8,
			{"flashsale 7", false, files}: 500, {"redis-server 8", true, memory}: 10 + float64(i),
		}
	}
	return samples
}

// The gauges of this process follow what it does.
func TestLookSeesGrowth(t *testing.T) {
	roots := []int{os.Getpid()}
	before, err := look(roots)
	testkit.Must(t, err)
	const more = 30
	for range more {
		file, err := os.Open(os.DevNull)
		testkit.Must(t, err)
		defer file.Close()
	}
	after, err := look(roots)
	testkit.Must(t, err)
	self := fmt.Sprintf("compare.test %d", os.Getpid())
	for m, least := range map[Measure]float64{files: more - 5, threads: -5, memory: -100} {
		g := gauge{self, false, m}
		if was, is := before[g], after[g]; was <= 0 || is-was < least || is-was > least+200 {
			t.Errorf("%s went from %.1f to %.1f", m, was, is)
		}
	}
}
