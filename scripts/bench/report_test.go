package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"flashsale/scripts/bench/audit"
	"flashsale/scripts/bench/compare"
	"flashsale/scripts/bench/load"
)

func TestSoakTable(t *testing.T) {
	rep := Report{Soak: &compare.SoakReport{Seconds: 600, Rate: 700, Samples: 120,
		Growth: []compare.Growth{
			{Process: "flashsale 7", Measure: "memory, MB", First: 20, Last: 21, Limit: 26},
			{Process: "flashsale 7", Measure: "files", First: 600, Last: 700, Limit: 646}}}}
	var out bytes.Buffer
	if err := rep.write(&out, false); err != nil {
		t.Fatal(err)
	}
	want := "soak: 600 s at 700 flows/s; 120 samples, medians of the first and the last third\n" +
		"  process                                  first       last    at most\n" +
		"  flashsale 7            memory, MB         20.0       21.0       26.0  flat\n" +
		"  flashsale 7            files             600.0      700.0      646.0  GROWS\naudit:\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestTextReport(t *testing.T) {
	rep := Report{Audit: []audit.Check{{Name: "all is well", Examined: 3},
		{Name: "nothing is lost", Examined: 3, Violations: 1, Examples: []string{"order x"}}}}
	var out bytes.Buffer
	if err := rep.write(&out, false); err != nil {
		t.Fatal(err)
	}
	want := "audit:\n  ok   all is well (3 looked at, 0 violations)\n  FAIL nothing is lost (3 looked " +
		"at, 1 violations)\n         order x\n"
	if out.String() != want {
		t.Errorf("got %q", out.String())
	}
	if err := rep.verdict(); !errors.Is(err, audit.ErrFailed) ||
		err.Error() != "audit failed: 1 of 2 checks found violations" {
		t.Error(err)
	}
	rep = Report{Load: &load.Report{Placed: 7, PlacedBySecond: []int64{7},
		Latency:  []load.StepLatency{{Step: "order", Count: 7, P50: 1500}},
		Refusals: []load.EventCount{{Step: "order", Name: "FOOD_OUT_OF_STOCK", Count: 2}}}}
	out.Reset()
	if err := rep.write(&out, false); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		fmt.Sprintf("  %-8s %10d %8.2f", "order", 7, 1.5),
		"  order             2 FOOD_OUT_OF_STOCK",
		"transport errors: none",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no line %q in\n%s", line, out.String())
		}
	}
	if strings.Contains(out.String(), "score") {
		t.Errorf("a load of one second has a score:\n%s", out.String())
	}
}

// What went wrong in a run stands below the table, by run and kind, and then what viewers cost.
func TestComparisonNamesFaults(t *testing.T) {
	rep := compare.Report{Rounds: 2, Orders: 9, Tables: []compare.Table{{Concurrency: 8,
		Sides: []compare.SideFigures{{Side: "floor", Trials: []compare.Trial{{Round: 1, Flows: 9, Placed: 9}}},
			{Side: "product", CrowdMemory: 3072, Trials: []compare.Trial{
				{Round: 1, Flows: 9, Placed: 9, Viewers: 20, CrowdHeld: 20},
				{Round: 2, Flows: 9, Placed: 7, Viewers: 20, CrowdHeld: 19,
					Refusals: []load.EventCount{{Step: "add", Name: "SERVICE_UNAVAILABLE", Count: 1}},
					Faults:   []load.EventCount{{Step: "login", Name: "reset by server", Count: 1}}}}}}}}}
	var out bytes.Buffer
	if err := writeComparison(&out, &rep); err != nil {
		t.Fatal(err)
	}
	want := "  ATTENTION: round 2 of product: add: 1 x SERVICE_UNAVAILABLE\n" +
		"  ATTENTION: round 2 of product: login: 1 x reset by server\n" +
		"  ATTENTION: 2 flows ended without an order\n" +
		"  audit: none, for no side sells for real\n" +
		"  20 viewers: 3.0 KB of the workers with each, 19 still there after the load (fewest of all runs)  " +
		"product\n"
	if !strings.Contains(out.String(), want) || strings.Count(out.String(), "ATTENTION") != 3 {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
