package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"flashsale/scripts/bench/compare"
	"flashsale/scripts/bench/load"
)

func TestSoakOfProduct(t *testing.T) {
	requireTool(t, "redis-server")
	var stdout, stderr bytes.Buffer
	err := run([]string{"soak", "3s", "-json", "-rate", "300", "-concurrency", "20", "-retry", "-seed",
		"7"}, &stdout, &stderr)
	if err != nil {
		t.Fatalf("%v: %s%s", err, stdout.String(), stderr.String())
	}
	var rep Report
	if err := json.Unmarshal(stdout.Bytes(), &rep); err != nil {
		t.Fatal(err)
	}
	s, l := rep.Soak, rep.Load
	if l.Placed != l.Flows || l.Flows < 700 || s.Samples < 6 || s.Rate != 300 || s.Peak != 0 ||
		s.Seconds < 2.5 || len(rep.Audit) != 13 {
		t.Errorf("load %+v, soak %+v, %d checks", l, s, len(rep.Audit))
	}
	rows := map[string]int{}
	for _, g := range s.Growth {
		kind, _, _ := strings.Cut(g.Process, " ")
		rows[kind+" "+string(g.Measure)]++
	}
	for row, least := range map[string]int{"flashsale memory, MB": 2, "flashsale threads": 2,
		"flashsale files": 2, "worker goroutines": 1,
		"redis-server memory, MB": 1, "redis-server threads": 1, "redis-server files": 1} {
		if rows[row] < least {
			t.Errorf("%d rows of %s in %+v", rows[row], row, s.Growth)
		}
	}
	_, err = compare.OpenSoak(t.Context(), &compare.SoakOptions{Time: time.Hour,
		Load: load.Options{Rate: 1e5}}, io.Discard)
	if want := "bad usage: soak 1h0m0s at 100000 flows/s takes 360094869 users, at most 9999999; shorten " +
		"it or lower -rate"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
