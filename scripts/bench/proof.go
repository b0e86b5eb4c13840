package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"flashsale/scripts/bench/audit"
	"flashsale/scripts/bench/history"
	"flashsale/scripts/bench/sale"
)

// proof is the work of a subcommand with a sale: the books before, a load, the books after, the checks, the
// report.
type proof struct {
	json    bool
	html    string // path of the page to write; "" = no page
	line    string // the whole command
	retried bool
	history *history.Writer // of the load; nil = none
}

func (p *proof) register(fs *flag.FlagSet) {
	fs.BoolVar(&p.json, "json", false, "print one JSON object instead of text")
	fs.StringVar(&p.html, "html", "", "write the report as one page with pictures to this `file`")
}

// loader makes a load and fills evidence and report.
type loader func(context.Context, *audit.Evidence, *Report) error

// prove audits a sale before and after the load; a nil load is an audit alone.
func (p *proof) prove(ctx context.Context, access *sale.Access, load loader, stdout io.Writer) error {
	onSale, err := sale.Read(ctx, access.Catalog)
	if err != nil {
		return err
	}
	books, err := audit.Open(ctx, access, onSale.Root)
	if err != nil {
		return err
	}
	page, err := p.createPage()
	if err != nil {
		return err
	}
	rep := &Report{Command: p.line, Servers: access.Servers, Readiness: books.Readiness(ctx)}
	ev := &audit.Evidence{Sale: onSale, Retried: p.retried}
	if err := books.Read(ctx, ev); err != nil {
		return err
	}
	if err := ev.Matches(rep.Readiness); err != nil {
		return err
	}
	if load != nil {
		ev.Begin()
		if p.history != nil {
			ev.WriteStock(p.history, p.history.Now())
		}
		if err := load(ctx, ev, rep); err != nil {
			return err
		}
		loaded := time.Now()
		// A signal was for the load.
		if err := books.Read(context.WithoutCancel(ctx), ev); err != nil {
			_ = rep.write(stdout, p.json) // the load has a report even if the audit fails
			return fmt.Errorf("cannot audit: %w", err)
		}
		if p.history != nil {
			ev.WriteStock(p.history, p.history.At(loaded))
			ev.WriteOrders(p.history, p.history.At(loaded))
		}
	}
	rep.Audit = ev.Checks()
	if rep.Soak != nil {
		rep.Audit = append(rep.Audit, rep.Soak.Checks()...)
	}
	if err := rep.write(stdout, p.json); err != nil {
		return err
	}
	if err := errors.Join(rep.writePage(page, time.Now()), page.Close()); err != nil {
		return err
	}
	return rep.verdict()
}

// createPage opens the file of -html before the load, so that a wrong path costs no load. Without -html the
// page is discarded.
func (p *proof) createPage() (*os.File, error) {
	path := p.html
	if path == "" {
		path = os.DevNull
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot write -html: %w", sale.ErrUsage, err)
	}
	return file, nil
}
