package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"flashsale/scripts/bench/load"
)

// The page of a load needs nothing else, and a browser draws its four charts. The report names the whole
// command and what the server answers at /readyz.
func TestPageOfLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.html")
	s := newShop(builtIn(t, 10, 1000), losesOrder)
	s.users = 201
	address := s.open(t)
	t.Setenv("DB_PASS", "hidden")
	t.Setenv("TIMEOUT", "5s")
	rep, stderr, code := bench(t, []string{address}, 10, 1000, "-html", path)
	text, err := os.ReadFile(path)
	if code != exitAudit || err != nil {
		t.Fatalf("exit %d, %v: %s", code, err, stderr)
	}
	want := "bench -addr=" + address + " -concurrency=8 -db-pass=(set) -foods=10 -html=" + path +
		" -json=true -orders=100 -root-password=(set) -seed=7 -timeout=5s -users=201"
	if rep.Command != want {
		t.Errorf("got  %s\nwant %s", rep.Command, want)
	}
	if ready := rep.Readiness[address]; len(ready) != 2 || ready["sale"] != "shop" || ready["users"] != 201.0 {
		t.Errorf("readiness %v", rep.Readiness)
	}
	page := string(text)
	if outside := regexp.MustCompile(` (src|href)=|url\(|@import|<link`).FindString(page); outside != "" {
		t.Errorf("the page needs %q", outside)
	}
	for _, want := range []string{"Audit: audit failed: 1 of 10 checks found violations",
		"<code>bench</code> <code>-addr=", "Latency of orders, by second", "&#34; of user ", "is not there"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	requireTool(t, "chromium")
	browser := exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
		"--user-data-dir="+t.TempDir(), "--virtual-time-budget=2000", "file://"+path)
	drawn, err := browser.Output()
	if n := strings.Count(string(drawn), "<canvas"); err != nil || n != 3 {
		t.Errorf("%d charts drawn, %v", n, err)
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

// values are those of a line, -1 where there is none.
func values(line []*float64) []float64 {
	all := make([]float64, len(line))
	for i, v := range line {
		all[i] = -1
		if v != nil {
			all[i] = *v
		}
	}
	return all
}

func TestCharts(t *testing.T) {
	full := load.NewTally()
	for second, micros := range []int{100, 0, 10_000} {
		for range 50 * min(micros, 1) {
			full.Time(load.StepOrder, time.Duration(micros)*time.Microsecond, time.Duration(second)*time.Second)
			full.Place(time.Duration(second) * time.Second)
		}
	}
	for i, code := range []string{"A", "B", "C", "D", "E", "F", "G"} {
		for range 10 - i {
			full.Count(load.Refusal, load.StepAdd, code, 2*time.Second)
		}
	}
	for range 20 {
		full.Count(load.Fault, load.StepOrder, "timeout", 0)
	}
	all := charts(load.Result{Tally: full, Elapsed: 3 * time.Second}.Report())
	placed, orders, latency, refusals := all[0], all[1], all[2], all[3]
	if got := values(placed.Data[1]); !reflect.DeepEqual(got, []float64{50, 0, 50}) || !placed.Bars {
		t.Errorf("placed %v", got)
	}
	if p50 := values(orders.Data[1]); len(orders.Lines) != 3 || p50[1] != -1 || p50[0] > 0.11 || p50[2] < 9 {
		t.Errorf("orders by second: %v", p50)
	}
	// Half took 0.1 ms, the other half 10; the line ends at 99%, where one value is left.
	line := values(latency.Data[1])
	if len(latency.Lines) != 1 || latency.Lines[0] != "order" || line[0] > 0.11 ||
		line[percentilePoints] < 9 || *latency.Data[0][percentilePoints] != 2 {
		t.Errorf("by percentile: %v, %v", latency.Lines, line)
	}
	const want = "order timeout, add A, add B, add C, add D, all others"
	if got := strings.Join(refusals.Lines, ", "); got != want {
		t.Errorf("lines %s", got)
	}
	if others := values(refusals.Data[6]); !reflect.DeepEqual(others, []float64{0, 0, 15}) {
		t.Errorf("others %v", others)
	}
}
