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

	"flashsale/scripts/bench/audit"
	"flashsale/scripts/bench/compare"
	"flashsale/scripts/bench/history"
	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/payment"
	"flashsale/scripts/bench/sale"
)

// subcommands are all subcommands of bench. The first is the default.
var subcommands = []subcommand{
	{"load", "", "loads a sale and audits it", func() task { return &loadTask{} }},
	{"audit", "", "makes the checks that need no memory of a load", func() task { return &auditTask{} }},
	{"check", "file", "checks the history of a load (-history), with porcupine",
		func() task { return &checkTask{} }},
	{"compare", "sides", "starts and compares sides, separated by |, the first is the base. A side is floor, " +
		"product or the path of a server, with NAME=VALUE before and flags behind; STORE=off, always or own; " +
		"REDIS=n plain ones or CLUSTER=n masters; SERVERS=n of them in one sale; IDLE=n silent " +
		"connections or VIEWERS=n of GET /live; CHAT=n users who talk",
		func() task { return &compareTask{} }},
	{"soak", "time", "starts a server and loads it for so long at -rate, with as many users as that takes; " +
		"fails if its memory, threads or files grow",
		func() task { return &soakTask{} }},
	{compare.FloorProgram, "", "serves the flow with ready-made replies: what HTTP alone costs",
		func() task { return &floorTask{} }},
}

type loadTask struct {
	access   sale.Access
	load     load.Options
	payment  payment.Options
	validate int64
	history  string // path of the file to write; "" = none
	proof    proof
}

func (t *loadTask) register(fs *flag.FlagSet) {
	t.access.Register(fs)
	t.load.Register(fs)
	t.payment.Register(fs)
	t.proof.register(fs)
	fs.Int64Var(&t.validate, "validate", 0, "compare one of so many `replies` with the description of the API "+
		"that the server has at /openapi.json; 1 = all, 0 = none")
	fs.StringVar(&t.history, "history", "", "write what the buyers ask and learn of orders to this `file`, "+
		"for bench check; implies -retry, and the buyers look at their orders and repeat them meanwhile")
	fs.DurationVar(&t.load.Restock, "restock", 0,
		"with -history: root adds a piece to a random food this often")
}

func (t *loadTask) resolve(_ string, given map[string]bool, line func() string) error {
	if err := t.load.Resolve(given); err != nil {
		return err
	}
	if t.validate < 0 {
		return fmt.Errorf("%w: -validate %d is negative", sale.ErrUsage, t.validate)
	}
	if err := t.payment.Resolve(); err != nil {
		return err
	}
	if err := t.access.Resolve(); err != nil {
		return err
	}
	t.load.Servers, t.load.TLS = t.access.Servers, t.access.TLS
	if t.load.Restock < 0 || t.load.Restock > 0 && t.history == "" {
		return fmt.Errorf("%w: -restock %v is negative or without -history", sale.ErrUsage, t.load.Restock)
	}
	t.load.Retry = t.load.Retry || t.history != ""
	t.proof.line, t.proof.retried = line(), t.load.Retry
	return nil
}

func (t *loadTask) run(ctx context.Context, stdout, stderr io.Writer) error {
	if t.history == "" {
		return t.prove(ctx, stdout, stderr)
	}
	file, err := os.Create(t.history)
	if err != nil {
		return fmt.Errorf("%w: cannot write -history: %w", sale.ErrUsage, err)
	}
	t.load.History = history.NewWriter(file)
	t.proof.history, t.payment.History = t.load.History, t.load.History
	err = t.prove(ctx, stdout, stderr)
	return errors.Join(err, t.load.History.Flush(), file.Close())
}

func (t *loadTask) prove(ctx context.Context, stdout, stderr io.Writer) error {
	return t.proof.prove(ctx, &t.access, func(ctx context.Context, ev *audit.Evidence,
		rep *Report) (err error) {
		if t.load.Validation, err = newValidation(t.validate, t.load); err != nil {
			return err
		}
		defer func() { ev.Replies = described(t.load.Validation) }()
		payer, err := payment.Open(ctx, t.payment, t.load.Servers, t.load.TLS, t.load.Timeout, t.load.Seed)
		if err != nil {
			return err
		}
		t.load.Hold = payer.Hold()
		began := time.Now()
		if err := loadSale(ctx, t.load, ev, rep, stderr); err != nil || payer == nil {
			return err
		}
		ev.Endings, rep.Payments = payer.End(ctx, began, ev.Sale, ev.Attempts)
		return nil
	}, stdout)
}

// checkTask checks a history. It needs no server.
type checkTask struct{ file string }

func (t *checkTask) register(*flag.FlagSet) {}

func (t *checkTask) resolve(file string, _ map[string]bool, _ func() string) error {
	t.file = file
	return nil
}

func (t *checkTask) run(_ context.Context, stdout, _ io.Writer) error {
	events, err := history.ReadFile(t.file)
	if err != nil {
		return fmt.Errorf("%w: %w", sale.ErrUsage, err)
	}
	verdict := history.Check(events)
	fmt.Fprint(stdout, verdict)
	return verdict.Err()
}

// described is the check of all compared replies. Without a compared reply it is violated: it proves
// nothing.
func described(v *load.Validation) *audit.Check {
	if v == nil {
		return nil
	}
	c := audit.Check{Name: audit.Described}
	c.Examined, c.Violations, c.Examples = v.Result()
	if c.Examined == 0 {
		c.Violate("no reply was compared: the load had fewer than the %d of -validate", v.Every)
	}
	return &c
}

// loadSale picks the buyers, runs the load and fills evidence and report; ev has the books from before it.
func loadSale(ctx context.Context, opt load.Options, ev *audit.Evidence, rep *Report,
	stderr io.Writer) error {
	free := ev.Sale.Free(ev.Bought())
	buyers, err := ev.Sale.Buyers(opt.Orders, free, stderr)
	if err != nil {
		return err
	}
	opt.Root = ev.Sale.Root
	result := load.New(opt, ev.Sale.Foods, buyers).Run(ctx)
	ev.Attempts = result.Attempts
	rep.Load = result.Report()
	rep.Load.Skipped = len(ev.Sale.Users) - len(free)
	return nil
}

type auditTask struct {
	access sale.Access
	proof  proof
}

func (t *auditTask) register(fs *flag.FlagSet) {
	t.access.Register(fs)
	t.proof.register(fs)
}

func (t *auditTask) resolve(_ string, _ map[string]bool, line func() string) error {
	t.proof.line = line()
	return t.access.Resolve()
}

func (t *auditTask) run(ctx context.Context, stdout, _ io.Writer) error {
	return t.proof.prove(ctx, &t.access, nil, stdout)
}

type compareTask struct{ opt compare.Options }

func (t *compareTask) register(fs *flag.FlagSet) { t.opt.Register(fs) }

func (t *compareTask) resolve(sides string, given map[string]bool, _ func() string) error {
	return t.opt.Resolve(sides, given)
}

func (t *compareTask) run(ctx context.Context, stdout, stderr io.Writer) error {
	rep, err := compare.Run(ctx, t.opt, stderr)
	if err != nil {
		return err
	}
	return writeComparison(stdout, rep)
}

type soakTask struct {
	opt   compare.SoakOptions
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
	s, err := compare.OpenSoak(ctx, &t.opt)
	if err != nil {
		return err
	}
	defer s.Close()
	access := &sale.Access{Servers: t.opt.Load.Servers, Catalog: t.opt.Catalog}
	return t.proof.prove(ctx, access, func(ctx context.Context, ev *audit.Evidence, rep *Report) error {
		rep.Soak, err = s.Watch(func() (*load.Report, error) {
			err := loadSale(ctx, t.opt.Load, ev, rep, stderr)
			return rep.Load, err
		})
		return err
	}, stdout)
}

type floorTask struct{ floor compare.Floor }

func (t *floorTask) register(fs *flag.FlagSet) { t.floor.Register(fs) }

func (t *floorTask) resolve(string, map[string]bool, func() string) error { return nil }

func (t *floorTask) run(context.Context, io.Writer, io.Writer) error {
	signal.Reset(os.Interrupt, syscall.SIGTERM) // they end bench at once: it has nothing to finish
	return t.floor.Serve()
}
