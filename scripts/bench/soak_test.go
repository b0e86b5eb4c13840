package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"flashsale/internal/testkit"
)

func TestSoakOfProduct(t *testing.T) {
	requireTool(t, "redis-server")
	var stdout, stderr bytes.Buffer
	err := run([]string{"soak", "6s", "-json", "-rate", "300", "-concurrency", "20", "-retry", "-seed",
		"7"}, &stdout, &stderr)
	if err != nil {
		t.Fatalf("%v: %s%s", err, stdout.String(), stderr.String())
	}
	var rep Report
	testkit.Must(t, json.Unmarshal(stdout.Bytes(), &rep))
	s, l := rep.Soak, rep.Load
	// 1800 flows are meant, and a busy machine begins fewer.
	if l.Placed != l.Flows || l.Flows == 0 || s.Samples < 3 || s.Rate != 300 ||
		s.Seconds < 2.5 || len(rep.Audit) != 13 {
		t.Errorf("load %+v, soak %+v, %d checks", l, s, len(rep.Audit))
	}
	rows := map[string]int{}
	for _, g := range s.Growth {
		kind, _, _ := strings.Cut(g.Process, " ")
		rows[kind+" "+string(g.Measure)]++
	}
	for row, least := range map[string]int{"flashsale memory, MB": 2, "flashsale threads": 2,
		"flashsale files": 2, "redis-server memory, MB": 1} {
		if rows[row] < least {
			t.Errorf("%d rows of %s in %+v", rows[row], row, s.Growth)
		}
	}
}
