package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

// steady are n samples of a server that does not grow.
func steady(n int) []sample {
	samples := make([]sample, n)
	for i := range samples {
		samples[i] = sample{
			{"flashsale 7", false, memory}: 20, {"flashsale 7", false, threads}: 8, {"flashsale 7", false, files}: 500,
			{"redis-server 8", true, memory}: 10 + float64(i), {"worker 0", false, goroutines}: 600,
		}
	}
	return samples
}

func TestSoakReportFindsGrowth(t *testing.T) {
	const orders = 1 << 20 // the store may grow by 2/3 x 256 MB
	tests := map[string]struct {
		change func(i int, s sample)
		want   []string // examples of the two checks
	}{
		"steady":        {func(int, sample) {}, nil},
		"a spike":       {func(i int, s sample) { s[gauge{"flashsale 7", false, memory}] += map[bool]float64{true: 900}[i == 95] }, nil},
		"shrinks":       {func(i int, s sample) { s[gauge{"flashsale 7", false, files}] -= float64(i) }, nil},
		"within limits": {func(i int, s sample) { s[gauge{"flashsale 7", false, memory}] += 0.08 * float64(i) }, nil},
		"memory": {func(i int, s sample) { s[gauge{"flashsale 7", false, memory}] += 0.2 * float64(i) }, []string{
			"flashsale 7: memory, MB 24.9 in the first third, 36.9 in the last one, at most 31.4 are allowed"}},
		"store": {func(i int, s sample) { s[gauge{"redis-server 8", true, memory}] = 10 * float64(i) }, []string{
			"redis-server 8: memory, MB 245.0 in the first third, 845.0 in the last one, at most 444.2 are allowed"}},
		"threads": {func(i int, s sample) { s[gauge{"flashsale 7", false, threads}] += float64(i / 10) }, []string{
			"flashsale 7: threads 10.0 in the first third, 16.0 in the last one, at most 14.0 are allowed"}},
		"goroutines": {func(i int, s sample) { s[gauge{"worker 0", false, goroutines}] += float64(i) }, []string{
			"worker 0: goroutines 624.5 in the first third, 684.5 in the last one, at most 671.7 are allowed"}},
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
			var got []string
			for _, c := range rep.checks() {
				got = append(got, c.Examples...)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if _, err := newSoakReport(steady(2), orders); !errors.Is(err, errUsage) {
		t.Errorf("two samples: %v", err)
	}
}

func TestSoakTable(t *testing.T) {
	rep := report{Soak: &soakReport{Seconds: 600, Rate: 700, Peak: 1000, Samples: 120, Growth: []growth{
		{"flashsale 7", memory, 20, 21, 26}, {"worker 0", goroutines, 600, 700, 646}}}}
	var out bytes.Buffer
	if err := rep.write(&out, false); err != nil {
		t.Fatal(err)
	}
	want := "soak: 600 s at 700 flows/s, 70% of the peak of 1000 orders/s; 120 samples, medians of the first and the last third\n" +
		"  process                                  first       last    at most\n" +
		"  flashsale 7            memory, MB         20.0       21.0       26.0  flat\n" +
		"  worker 0               goroutines        600.0      700.0      646.0  GROWS\naudit:\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// The gauges of this process follow what it does.
func TestWatcherSeesGrowth(t *testing.T) {
	port, err := freePorts(2)
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
	self := fmt.Sprintf("bench.test %d", os.Getpid())
	for g, least := range map[gauge]float64{{self, false, files}: more - 5, {"worker 0", false, goroutines}: more - 5,
		{self, false, threads}: -5, {self, false, memory}: -100} {
		if was, is := before[g], after[g]; was <= 0 || is-was < least || is-was > least+200 {
			t.Errorf("%s of %s went from %.1f to %.1f", g.measure, g.process, was, is)
		}
	}
	if _, read := after[gauge{"worker 1", false, goroutines}]; read {
		t.Error("a worker that does not answer has goroutines")
	}
}

func TestSoakOfProduct(t *testing.T) {
	requireRedis(t)
	var stdout, stderr bytes.Buffer
	err := run([]string{"-json", "-soak", "3s", "-rate", "300", "-concurrency", "20", "-retry", "-seed", "7"}, &stdout, &stderr)
	if err != nil {
		t.Fatalf("%v: %s%s", err, stdout.String(), stderr.String())
	}
	var rep report
	if err := json.Unmarshal(stdout.Bytes(), &rep); err != nil {
		t.Fatal(err)
	}
	s, l := rep.Soak, rep.Load
	if l.Placed != l.Flows || l.Flows < 700 || s.Samples < 6 || s.Rate != 300 || s.Peak != 0 || s.Seconds < 2.5 || len(rep.Audit) != 13 {
		t.Errorf("load %+v, soak %+v, %d checks", l, s, len(rep.Audit))
	}
	rows := map[string]int{}
	for _, g := range s.Growth {
		kind, _, _ := strings.Cut(g.Process, " ")
		rows[kind+" "+string(g.Measure)]++
	}
	for row, least := range map[string]int{"flashsale memory, MB": 2, "flashsale threads": 2, "flashsale files": 2, "worker goroutines": 1,
		"redis-server memory, MB": 1, "redis-server threads": 1, "redis-server files": 1} {
		if rows[row] < least {
			t.Errorf("%d rows of %s in %+v", rows[row], row, s.Growth)
		}
	}
}

func TestSoakMeasuresPeak(t *testing.T) {
	requireRedis(t)
	product, err := buildProduct(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	opt, err := parseOptions([]string{"-soak", "3s", "-concurrency", "8"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	s := &soak{folder: t.TempDir()}
	if peak, err := s.measurePeak(t.Context(), opt, product, 300); err != nil || peak < 10 || peak > 100_000 {
		t.Errorf("peak %.0f, %v", peak, err)
	}
}

func TestOptionsOfSoak(t *testing.T) {
	tests := map[string]string{
		"-soak=2s":                  "-soak 2s is not within 3s to 24h0m0s",
		"-soak=25h":                 "-soak 25h0m0s is not within 3s to 24h0m0s",
		"-soak=1m -addr=a:1":        "-addr does not go with -soak, which starts its own server with the built-in catalogue",
		"-soak=1m -orders=5":        "-orders does not go with -soak, which starts its own server with the built-in catalogue",
		"-soak=1m -duration=5s":     "-duration does not go with -soak, which starts its own server with the built-in catalogue",
		"-soak=1m -ramp":            "-ramp does not go with -soak, which starts its own server with the built-in catalogue",
		"-soak=1m -compare=a|b":     "-compare does not go with -soak, which starts its own server with the built-in catalogue",
		"-soak=1m -concurrency=1,2": "several -concurrency belong to -compare",
	}
	for args, want := range tests {
		if _, err := parseOptions(strings.Fields(args), io.Discard); !errors.Is(err, errUsage) || err.Error() != "bad usage: "+want {
			t.Errorf("%s: %v", args, err)
		}
	}
	opt, err := parseOptions([]string{"-soak", "10m", "-rate", "5"}, io.Discard)
	if err != nil || opt.soak != 10*time.Minute || opt.rate != 5 || opt.catalog.RootPassword == "" {
		t.Errorf("%+v, %v", opt, err)
	}
	_, err = openSoak(t.Context(), &options{soak: time.Hour, rate: 1e5}, io.Discard)
	if want := "bad usage: -soak 1h0m0s at 100000 flows/s takes 360094869 users, at most 9999999; lower -rate or -soak"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
