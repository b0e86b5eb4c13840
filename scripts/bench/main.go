// Command bench loads a sale and then proves that it sold correctly. README.md shows how to measure with it.
//
// It shares only the catalogue and its flags with the server: it proves from outside.
//
// Exit codes: 0 all checks passed, 1 the audit found violations, the soak found growth or a history is not
// linearizable, 2 bad usage, 3 no server or no order was ever answered.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"flashsale/scripts/bench/audit"
	"flashsale/scripts/bench/history"
	"flashsale/scripts/bench/sale"
)

const (
	exitAudit       = 1
	exitUsage       = 2
	exitUnreachable = 3
)

func main() {
	os.Exit(exitCode(run(os.Args[1:], os.Stdout, os.Stderr), os.Stderr))
}

// exitCode maps the end of a run to its exit code and writes its error as one line.
func exitCode(err error, stderr io.Writer) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintf(stderr, "bench: %v\n", err)
	switch {
	case errors.Is(err, audit.ErrFailed), errors.Is(err, history.ErrNotLinearizable):
		return exitAudit
	case errors.Is(err, sale.ErrUnreachable):
		return exitUnreachable
	default:
		return exitUsage
	}
}

// run is the whole command.
func run(args []string, stdout, stderr io.Writer) error {
	t, err := parse(args, stdout)
	if err != nil {
		return err
	}
	ctx, restoreSignals := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer restoreSignals()
	// The first signal ends the load early, a second one kills.
	context.AfterFunc(ctx, restoreSignals)
	return t.run(ctx, stdout, stderr)
}
