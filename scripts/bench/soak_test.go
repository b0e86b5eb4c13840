package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/report"
	"flashsale/scripts/bench/sale"
	"flashsale/scripts/bench/soak"
)

func TestSoakOfProduct(t *testing.T) {
	requireTool(t, "redis-server")
	var stdout, stderr bytes.Buffer
	err := run([]string{"-json", "-soak", "3s", "-rate", "300", "-concurrency", "20", "-retry", "-seed",
		"7"}, &stdout, &stderr)
	if err != nil {
		t.Fatalf("%v: %s%s", err, stdout.String(), stderr.String())
	}
	var rep report.Report
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
}

func TestOptionsOfSoak(t *testing.T) {
	refusals(t, map[string]string{
		"-soak=2s":                "soak 2s is not within 3s to 24h0m0s",
		"-soak=25h":               "soak 25h0m0s is not within 3s to 24h0m0s",
		"soak 1m -addr=a:1":       "-addr is a flag of bench load, ramp, audit, not of bench soak",
		"soak 1m -orders=5":       "-orders is a flag of bench load, compare, not of bench soak",
		"soak 1m -duration=5s":    "-duration is a flag of bench load, ramp, compare, not of bench soak",
		"soak 1m -ramp":           "-ramp means bench ramp, but bench soak is named",
		"soak 1m -compare=a|b":    "-compare means bench compare, but bench soak is named",
		"soak 1m -retry -idle=-1": "-idle -1 is not within 0 to 100000",
	})
	if _, err := parse(strings.Fields("soak 1m -concurrency=1,2"), io.Discard); !errors.Is(err,
		sale.ErrUsage) {
		t.Errorf("two numbers of buyers: %v", err)
	}
	got := parsed[*soakTask](t, "-soak", "10m", "-rate", "5").opt
	if got.Time != 10*time.Minute || got.Load.Rate != 5 {
		t.Errorf("%+v", got)
	}
	_, err := soak.Open(t.Context(), &soak.Options{Time: time.Hour,
		Load: load.Options{Rate: 1e5}}, io.Discard)
	if want := "bad usage: soak 1h0m0s at 100000 flows/s takes 360094869 users, at most 9999999; shorten " +
		"it or lower -rate"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
