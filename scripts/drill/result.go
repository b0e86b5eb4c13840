package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// result is the outcome of a turn.
type result struct {
	turn
	orders, unknown, lost int
	mayLose               int // acknowledged orders that the drill itself destroyed
	own                   int // orders that the drill has placed beside the load
	slowest, resumed      time.Duration
	took                  time.Duration
	memory                int64 // kB, of the largest worker
	goroutines            int64 // of the worker with the most
	failures              []string
	notes                 []string
	impossible            string // why the drill cannot be done here, "" = it was done
	logs                  string // of a failed drill
}

func (r *result) fail(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// verdict is the last column.
func (r *result) verdict() string {
	switch {
	case len(r.failures) > 0:
		return "FAILED"
	case r.impossible != "":
		return "not done"
	}
	return "ok"
}

// describe writes the details below the table.
func (r *result) describe(out io.Writer) {
	fmt.Fprintf(out, "    %s in %v\n", r.verdict(), r.took.Round(100*time.Millisecond))
	for _, note := range r.notes {
		fmt.Fprintf(out, "    %s\n", note)
	}
	if r.impossible != "" {
		fmt.Fprintf(out, "    NOT DONE: %s\n", r.impossible)
	}
	for _, failure := range r.failures {
		fmt.Fprintf(out, "    FAILED: %s\n", failure)
	}
	if len(r.failures) > 0 {
		fmt.Fprintf(out, "    again: go run ./scripts/drill -only %s -seed %d\n%s", r.drill.name, r.seed, r.logs)
	}
}

func printTable(out io.Writer, results []result, took time.Duration) {
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "seed\torders\tunknown\tlost\tslowest answer\tresumed after\tworker MB\tgoroutines\t"+
		"verdict\t  drill")
	passed, notDone := 0, []string(nil)
	for i := range results {
		r := &results[i]
		lost := fmt.Sprint(r.lost)
		if r.mayLose > 0 {
			lost += fmt.Sprintf(" of %d cut", r.mayLose)
		}
		fmt.Fprintf(table, "%d\t%d\t%d\t%s\t%s\t%s\t%d\t%d\t%s\t  %s\n", r.seed, r.orders, r.unknown, lost,
			seconds(r.slowest), seconds(r.resumed), r.memory>>10, r.goroutines, r.verdict(), r.drill.name)
		switch r.verdict() {
		case "ok":
			passed++
		case "not done":
			notDone = append(notDone, r.drill.name+" ("+r.impossible+")")
		}
	}
	table.Flush()
	fmt.Fprintf(out, "\n%d of %d drills passed in %v", passed, len(results), took.Round(time.Second))
	if len(notDone) > 0 {
		fmt.Fprintf(out, "; not done: %s", strings.Join(notDone, ", "))
	}
	fmt.Fprintln(out)
	for i := range results { // again: readers look at the end of a long log
		for _, failure := range results[i].failures {
			fmt.Fprintf(out, "%s FAILED: %s\n", results[i].drill.name, failure)
		}
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// verdict is the error of the whole run, nil when no drill failed.
func verdict(results []result, turns int) error {
	var failed []string
	for i := range results {
		if len(results[i].failures) > 0 {
			failed = append(failed, results[i].drill.name)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%w: %s", errFailed, strings.Join(failed, ", "))
	}
	if len(results) < turns {
		return fmt.Errorf("%w: interrupted after %d of %d", errFailed, len(results), turns)
	}
	return nil
}
