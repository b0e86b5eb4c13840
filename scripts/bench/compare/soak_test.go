package compare

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"reflect"
	"strconv"
	"testing"
	"time"

	"flashsale/internal/catalog"
	"flashsale/internal/testkit/launch"
	"flashsale/redisx/redistest"
	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/sale"
)

func TestSoakReportFindsGrowth(t *testing.T) {
	const orders = 1 << 20 // the store may grow by 2/3 x 256 MB
	tests := map[string]struct {
		change func(i int, s sample)
		want   []string // examples of the two checks
	}{
		"steady": {func(int, sample) {}, nil},
		"a spike": {func(i int, s sample) {
			s[gauge{"flashsale 7", false, memory}] += map[bool]float64{true: 900}[i == 95]
		}, nil},
		"shrinks": {func(i int, s sample) {
			s[gauge{"flashsale 7", false, files}] -= float64(i)
		}, nil},
		"within limits": {func(i int, s sample) {
			s[gauge{"flashsale 7", false, memory}] += 0.08 * float64(i)
		}, nil},
		"memory": {func(i int, s sample) {
			s[gauge{"flashsale 7", false, memory}] += 0.2 * float64(i)
		}, []string{
			"flashsale 7: memory, MB 24.9 in the first third, 36.9 in the last one, at most 31.4 are " +
				"allowed"}},
		"store": {func(i int, s sample) {
			s[gauge{"redis-server 8", true, memory}] = 10 * float64(i)
		}, []string{
			"redis-server 8: memory, MB 245.0 in the first third, 845.0 in the last one, at most 444.2 " +
				"are allowed"}},
		"threads": {func(i int, s sample) {
			s[gauge{"flashsale 7", false, threads}] += float64(i / 10)
		}, []string{
			"flashsale 7: threads 10.0 in the first third, 16.0 in the last one, at most 14.0 are allowed"}},
		"goroutines": {func(i int, s sample) {
			s[gauge{"worker 0", false, goroutines}] += float64(i)
		}, []string{
			"worker 0: goroutines 624.5 in the first third, 684.5 in the last one, at most 671.7 are " +
				"allowed"}},
		"ended": {func(i int, s sample) {
			if i > 50 {
				delete(s, gauge{"worker 0", false, goroutines})
			}
		}, []string{"worker 0: goroutines in 51 of 100 samples"}},
		"came": {func(i int, s sample) {
			if i > 98 {
				s[gauge{"flashsale 9", false, threads}] = 1
			}
		}, []string{"flashsale 9: threads in 1 of 100 samples"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			samples := steady(100)
			for i, s := range samples {
				test.change(i, s)
			}
			rep, err := newSoakReport(samples, orders)
			if err != nil {
				t.Fatal(err)
			}
			rep.Seconds = memorySeconds
			got := violations(rep)
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	growing := steady(100)
	for i, s := range growing {
		s[gauge{"flashsale 7", false, memory}] += float64(i)
	}
	rep, err := newSoakReport(growing, orders)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Seconds = memorySeconds - 1; violations(rep) != nil {
		t.Errorf("a short soak judges memory: %q", violations(rep))
	}
	if _, err := newSoakReport(steady(2), orders); !errors.Is(err, sale.ErrUsage) {
		t.Errorf("two samples: %v", err)
	}
}

func violations(rep *SoakReport) (examples []string) {
	for _, c := range rep.Checks() {
		examples = append(examples, c.Examples...)
	}
	return examples
}

// steady are n samples of a server that does not grow.
func steady(n int) []sample {
	samples := make([]sample, n)
	for i := range samples {
		samples[i] = sample{
			{"flashsale 7", false, memory}: 20, {"flashsale 7", false, threads}: 8,
			{"flashsale 7", false, files}:    500,
			{"redis-server 8", true, memory}: 10 + float64(i), {"worker 0", false, goroutines}: 600,
		}
	}
	return samples
}

// The gauges of this process follow what it does.
func TestWatcherSeesGrowth(t *testing.T) {
	port, err := launch.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	profiles := &http.Server{Handler: http.HandlerFunc(pprof.Index)}
	go profiles.Serve(listener)
	defer profiles.Close()

	w := newWatcher([]int{os.Getpid()}, port, 2, time.Hour)
	stop := w.start()
	if err := stop(); err != nil || len(w.samples) != 1 {
		t.Fatalf("%d samples, %v", len(w.samples), err)
	}
	before := w.samples[0]
	const more = 30
	quit := make(chan struct{})
	defer close(quit)
	for range more {
		go func() { <-quit }()
		file, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
	}
	after, err := w.look()
	if err != nil {
		t.Fatal(err)
	}
	self := fmt.Sprintf("compare.test %d", os.Getpid())
	for g, least := range map[gauge]float64{{self, false, files}: more - 5,
		{"worker 0", false, goroutines}: more - 5,
		{self, false, threads}:          -5, {self, false, memory}: -100} {
		if was, is := before[g], after[g]; was <= 0 || is-was < least || is-was > least+200 {
			t.Errorf("%s of %s went from %.1f to %.1f", g.measure, g.process, was, is)
		}
	}
	if _, read := after[gauge{"worker 1", false, goroutines}]; read {
		t.Error("a worker that does not answer has goroutines")
	}
}

func TestSoakMeasuresPeak(t *testing.T) {
	redistest.Start(t) // there is a redis-server, or the test ends here
	product, err := launch.Build(t.Context(), launch.ServerSource)
	if err != nil {
		t.Fatal(err)
	}
	opt := SoakOptions{Load: load.Options{Concurrency: 8, Timeout: 10 * time.Second, Seed: 7},
		Catalog: catalog.Config{Foods: 100}}
	s := &Soak{folder: t.TempDir()}
	if peak, err := s.measurePeak(t.Context(), opt, product, 300); err != nil || peak < 10 ||
		peak > 100_000 {
		t.Errorf("peak %.0f, %v", peak, err)
	}
}
