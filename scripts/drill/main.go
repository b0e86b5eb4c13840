// Command drill makes the faults that a sale must survive, one after the other, each on a real stack under
// load: servers built from this module, redis-server processes, scripts/bench as the buyers.
//
// A drill starts its stack, waits for orders, makes its fault at a moment that the seed chooses, ends it,
// waits for service, and lets bench audit. One Prometheus watches all servers with the alert rules of
// scripts/grafana, in short windows. Beside the load, probes measure how long answers take and when service
// is back, and a watch looks at memory and goroutines of the workers. drills.go lists the drills; each table
// of them stands beside its faults.
//
// It must not know how the server works inside: it kills, freezes, cuts, fills and looks from outside.
// Drills run one after another, so that no drill spoils the times of the next.
//
// Exit codes: 0 every drill passed or cannot be done on this machine (the table shows which), 1 some failed,
// 2 bad usage or no stack could be started.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"flashsale/internal/testkit/launch"
)

const (
	exitFailed = 1
	exitUsage  = 2
)

var (
	errUsage  = errors.New("bad usage")
	errFailed = errors.New("drills failed")
	// errImpossible: this machine does not allow the fault, so the drill neither passed nor failed.
	errImpossible = errors.New("cannot be done on this machine")
)

func main() {
	err := run(os.Args[1:], os.Stdout)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, "drill:", err)
	if errors.Is(err, errFailed) {
		os.Exit(exitFailed)
	}
	os.Exit(exitUsage)
}

// run is the whole command: options, the programs, the drills one after the other, the table.
func run(args []string, out io.Writer) error {
	opt, err := parseOptions(args, out)
	if err != nil {
		return err
	}
	if opt.list {
		listDrills(out)
		return nil
	}
	for _, program := range []string{"redis-server", "prometheus"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%s is missing; apt-get install %s", program, program)
		}
	}
	turns := opt.turns()
	if needsDisk(turns) {
		ownMounts()
	}
	ctx, restoreSignals := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer restoreSignals()
	for _, source := range []string{launch.ServerSource, benchSource} { // here: no drill waits for the compiler
		if _, err := launch.Build(ctx, source); err != nil {
			return err
		}
	}
	prometheus, err := startPrometheus(ctx)
	if err != nil {
		return err
	}
	defer prometheus.stop()

	began := time.Now()
	var results []result
	for i, t := range turns {
		fmt.Fprintf(out, "%d/%d %s, seed %d: %s\n", i+1, len(turns), t.drill.name, t.seed, t.drill.says)
		r := perform(ctx, t, prometheus, &opt)
		r.describe(out)
		results = append(results, r)
		if ctx.Err() != nil {
			break
		}
	}
	printTable(out, results, time.Since(began))
	return verdict(results, len(turns))
}
