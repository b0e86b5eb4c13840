// Command bench drives a sale as the contest's clients do and then proves that it sold correctly.
//
// Many buyers at once, each order by another user, go through login, foods, cart, one to three adds, order, every request
// to a random server. In the closed loop a buyer begins when its last flow ended; with -rate flows start when they are
// meant to, whatever the server does, and count from then (arrivals.go). Afterwards the audit reads all orders and the food
// list as root and compares them with the catalogue and with what this run was told. -compare starts servers itself and
// sets their costs against each other (compare.go), with bare HTTP as the base (floor.go). -soak starts one and watches for a
// long time that it does not grow (soak.go).
//
// It must not repeat a request silently, except that a kept-alive connection found closed is dialled once again and
// counted; with -retry it repeats and counts whatever was left open (retry.go). It shares nothing with the server but the
// catalogue and its flags: what it proves, it proves from outside.
//
// It is slow where the audit reads /admin/orders: the whole list is fetched before the load and at least once after it.
//
// Exit codes: 0 all checks passed, 1 the audit found violations or the soak found growth, 2 bad usage, 3 no server or no
// order was ever answered.
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
	"time"
)

const (
	exitAudit       = 1
	exitUsage       = 2
	exitUnreachable = 3
)

var (
	errUsage       = errors.New("bad usage")
	errUnreachable = errors.New("sale unreachable")
	errAudit       = errors.New("audit failed")
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
	case errors.Is(err, errAudit):
		return exitAudit
	case errors.Is(err, errUnreachable):
		return exitUnreachable
	default:
		return exitUsage
	}
}

// run is the whole command.
func run(args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == floorProgram {
		return runFloor(args[1:])
	}
	opt, err := parseOptions(args, stdout)
	if err != nil {
		return err
	}
	ctx, restoreSignals := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer restoreSignals()
	// The first signal ends the load early, a second one kills.
	context.AfterFunc(ctx, restoreSignals)

	if len(opt.sides) > 0 {
		return compare(ctx, opt, stdout, stderr)
	}
	if opt.soak > 0 {
		s, err := openSoak(ctx, &opt, stderr)
		if err != nil {
			return err
		}
		defer s.close()
		return prove(ctx, opt, s.watch, stdout, stderr)
	}
	return prove(ctx, opt, func(load func() error, _ *report) error { return load() }, stdout, stderr)
}

// prove is one load of one sale: catalogue, the books before, the load, the audit, the report. around runs the load and may
// add to the report.
func prove(ctx context.Context, opt options, around func(load func() error, rep *report) error, stdout, stderr io.Writer) error {
	sale, err := readSale(ctx, opt)
	if err != nil {
		return err
	}
	books, err := openBooks(ctx, opt, sale.root)
	if err != nil {
		return err
	}
	page, err := createPage(opt.html)
	if err != nil {
		return err
	}
	rep := report{Command: opt.command, Servers: opt.servers, Readiness: books.readiness(ctx)}
	ev := evidence{sale: sale, retried: opt.retry}
	if err := books.read(ctx, &ev); err != nil {
		return err
	}
	if err := ev.matches(rep.Readiness); err != nil {
		return err
	}
	if !opt.auditOnly {
		load := func() error { return loadSale(ctx, opt, &ev, &rep, stderr) }
		if err := around(load, &rep); err != nil {
			return err
		}
		// A signal was for the load.
		if err := books.read(context.WithoutCancel(ctx), &ev); err != nil {
			_ = rep.write(stdout, opt.json) // the load was made, whatever hinders the audit
			return fmt.Errorf("cannot audit: %w", err)
		}
	}
	rep.Audit = ev.checks()
	if rep.Soak != nil {
		rep.Audit = append(rep.Audit, rep.Soak.checks()...)
	}
	if err := rep.write(stdout, opt.json); err != nil {
		return err
	}
	if err := errors.Join(rep.writePage(page, time.Now()), page.Close()); err != nil {
		return err
	}
	return rep.verdict()
}

// createPage opens the file of -html before the load, so that no load is lost to a wrong path. Without one the page goes
// nowhere.
func createPage(path string) (*os.File, error) {
	if path == "" {
		path = os.DevNull
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot write -html: %w", errUsage, err)
	}
	return file, nil
}

// loadSale picks the buyers, runs the load and fills evidence and report; ev has the books from before it.
func loadSale(ctx context.Context, opt options, ev *evidence, rep *report, stderr io.Writer) error {
	ev.before = ordersByID(ev.orders)
	free := ev.sale.free(ev.orders)
	if opt.idle > 0 {
		open, err := openIdle(ctx, opt)
		if err != nil {
			return err
		}
		defer func() {
			rep.Idle = &idleReport{Opened: len(open), Held: open.held()}
			open.close()
		}()
	}
	if opt.ramp {
		rep.Ramp, ev.attempts = ramp(ctx, opt, ev.sale, free, stderr)
		return nil
	}
	buyers, err := ev.sale.buyers(opt.orders, free, stderr)
	if err != nil {
		return err
	}
	l := newLoad(opt, ev.sale.foods, buyers)
	stopProgress := showProgress(stderr, len(l.users), &l.ended)
	result := l.run(ctx)
	stopProgress()
	ev.attempts = result.attempts
	rep.Load = newLoadReport(opt, result)
	rep.Load.Skipped = len(ev.sale.users) - len(free)
	return nil
}
