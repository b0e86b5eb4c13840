package main

import (
	"context"
	"flag"
	"io"
	"os"
	"os/signal"
	"syscall"

	"flashsale/scripts/bench/audit"
	"flashsale/scripts/bench/compare"
	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/report"
	"flashsale/scripts/bench/sale"
	"flashsale/scripts/bench/soak"
)

// The subcommands that start servers.

const (
	compareDoes = "starts and compares sides, separated by |, the first is the base. A side is kernel, " +
		"floor, product or the path of a server, with NAME=VALUE before and flags behind; STORE=off, " +
		"always, everysec, tcp or own; SERVERS=n of them on one Redis; SLOW=n connections of an attacker, a " +
		"byte a second each; behind it also -new-connections, -contest-bodies, -token-in-query for its load"
	soakDoes = "starts a server and loads it for so long at -rate (0 = 70% of a peak that is measured " +
		"first), with as many users as that takes; fails if its memory, threads, files or goroutines grow"
)

// compareTask is bench compare.
type compareTask struct {
	opt  compare.Options
	json bool
}

func (t *compareTask) register(fs *flag.FlagSet) {
	t.opt.Register(fs)
	fs.BoolVar(&t.json, "json", false, "print one JSON object instead of text")
}

func (t *compareTask) resolve(sides string, given map[string]bool, _ func() string) error {
	return t.opt.Resolve(sides, given)
}

func (t *compareTask) run(ctx context.Context, stdout, stderr io.Writer) error {
	rep, err := compare.Run(ctx, t.opt, stderr)
	if err != nil {
		return err
	}
	return report.WriteComparison(stdout, rep, t.json)
}

// soakTask is bench soak.
type soakTask struct {
	opt   soak.Options
	proof proof
}

func (t *soakTask) register(fs *flag.FlagSet) {
	t.opt.Register(fs)
	t.proof.register(fs)
}

func (t *soakTask) resolve(length string, given map[string]bool, line func() string) error {
	err := t.opt.Resolve(length, given)
	t.proof.line, t.proof.retried = line(), t.opt.Load.Retry
	return err
}

func (t *soakTask) run(ctx context.Context, stdout, stderr io.Writer) error {
	s, err := soak.Open(ctx, &t.opt, stderr)
	if err != nil {
		return err
	}
	defer s.Close()
	access := &sale.Access{Servers: t.opt.Load.Servers, Catalog: t.opt.Catalog}
	return t.proof.prove(ctx, access, func(ctx context.Context, ev *audit.Evidence,
		rep *report.Report) error {
		rep.Soak, err = s.Watch(func() (*load.Report, error) {
			err := loadSale(ctx, t.opt.Load, false, ev, rep, stderr)
			return rep.Load, err
		})
		return err
	}, stdout)
}

// cannedTask is bench kernel and bench floor.
type cannedTask struct{ server *compare.Canned }

func (t *cannedTask) register(fs *flag.FlagSet) { t.server.Register(fs) }

func (t *cannedTask) resolve(string, map[string]bool, func() string) error { return nil }

func (t *cannedTask) run(context.Context, io.Writer, io.Writer) error {
	signal.Reset(os.Interrupt, syscall.SIGTERM) // they end it at once: it has nothing to finish
	return t.server.Serve()
}
