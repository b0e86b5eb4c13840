package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"flashsale/scripts/bench/audit"
	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/report"
	"flashsale/scripts/bench/sale"
)

const (
	rampRateDefault     = "500" // flows a second in the first step
	rampDurationDefault = "3s"  // of a step
)

// loadTask is bench load and bench ramp.
type loadTask struct {
	ramp     bool // raise the rate, step by step
	access   sale.Access
	load     load.Options
	validate int64
	proof    proof
}

func (t *loadTask) register(fs *flag.FlagSet) {
	t.access.Register(fs)
	t.proof.register(fs)
	fs.Int64Var(&t.validate, "validate", 0, "compare one of so many `replies` with the description of the API "+
		"that the server has at /openapi.json; 1 = all, 0 = none")
	if !t.ramp {
		t.load.Register(fs)
		return
	}
	t.load.Register(fs, "orders") // the rate decides the number of a step
	for name, value := range map[string]string{"rate": rampRateDefault, "duration": rampDurationDefault} {
		f := fs.Lookup(name)
		f.DefValue = value
		_ = f.Value.Set(value) // it is well formed
	}
}

func (t *loadTask) resolve(_ string, given map[string]bool, line func() string) error {
	if err := t.load.Resolve(given); err != nil {
		return err
	}
	if t.validate < 0 {
		return fmt.Errorf("%w: -validate %d is negative", sale.ErrUsage, t.validate)
	}
	if err := t.access.Resolve(); err != nil {
		return err
	}
	t.load.Servers, t.load.TLS = t.access.Servers, t.access.TLS
	t.proof.line, t.proof.retried = line(), t.load.Retry
	return nil
}

func (t *loadTask) run(ctx context.Context, stdout, stderr io.Writer) error {
	return t.proof.prove(ctx, &t.access, func(ctx context.Context, ev *audit.Evidence,
		rep *report.Report) (err error) {
		if t.load.Validation, err = newValidation(t.validate, t.load); err != nil {
			return err
		}
		defer func() { ev.Replies = described(t.load.Validation) }()
		return loadSale(ctx, t.load, t.ramp, ev, rep, stderr)
	}, stdout)
}

// described is the check of all replies that were compared. None at all is a violation: it proves nothing.
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
func loadSale(ctx context.Context, opt load.Options, ramp bool, ev *audit.Evidence, rep *report.Report,
	stderr io.Writer) error {
	free := ev.Sale.Free(ev.Bought())
	if opt.Idle > 0 {
		open, err := load.OpenIdle(ctx, opt)
		if err != nil {
			return err
		}
		defer func() {
			rep.Idle = &load.IdleReport{Opened: len(open), Held: open.Held()}
			open.Close()
		}()
	}
	if opt.Viewers > 0 {
		viewers, err := load.OpenViewers(ctx, opt)
		if err != nil {
			return err
		}
		defer func() {
			rep.Viewers = &load.IdleReport{Opened: opt.Viewers, Held: viewers.Held()}
			viewers.Close()
		}()
	}
	if ramp {
		rep.Ramp, ev.Attempts = load.Ramp(ctx, opt, ev.Sale.Foods, free, stderr)
		return nil
	}
	buyers, err := ev.Sale.Buyers(opt.Orders, free, stderr)
	if err != nil {
		return err
	}
	l := load.New(opt, ev.Sale.Foods, buyers)
	stopProgress := showProgress(stderr, l.Flows(), l.Ended)
	result := l.Run(ctx)
	stopProgress()
	ev.Attempts = result.Attempts
	rep.Load = result.Report()
	rep.Load.Skipped = len(ev.Sale.Users) - len(free)
	return nil
}

// auditTask is bench audit.
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
