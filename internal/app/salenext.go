package app

import (
	"context"
	"errors"
	"fmt"

	"flashsale/redisx"
	"flashsale/redisx/turnover"
)

// errOtherNext is the error of opening the next sale when another call has just opened one.
var errOtherNext = errors.New("another next sale was opened")

// errUnnamedFoods refuses a next sale that would get built-in foods without a flag that asks for them.
var errUnnamedFoods = errors.New("no flag names the foods of the next sale, and those of the last one are " +
	"not the built-in ones; add -catalog-dir or -db-host as for the servers, or -foods and -stock")

// next opens the next sale, with the foods of the flags.
func (c *saleCommand) next(ctx context.Context, before *redisx.Marker) error {
	loaded, err := c.catalogue(ctx)
	if err != nil {
		return err
	}
	first := firstStock(loaded)
	if first.Catalog != before.Catalog && !c.cfg.CatalogNamed {
		return errUnnamedFoods
	}
	id, own, err := turnover.OpenNext(ctx, c.store.redis, turnover.Next{Before: before.Sale,
		Catalog: first.Catalog, Stock: first.Stock, Times: c.cfg.Times, Delete: c.cfg.Delete, Force: c.cfg.Force})
	if err != nil {
		return refusedNext(err)
	}
	opened, err := redisx.ReadMarker(ctx, c.store.redis)
	switch {
	case err != nil:
		return err
	case !own && opened.Catalog != first.Catalog:
		return fmt.Errorf("%w: sale %s of %s, which an earlier call has begun", errOtherNext, id, opened.Catalog)
	case !own:
		fmt.Fprintf(c.stdout, "sale %s is there; an earlier call has begun it: the times and -keep or -delete of "+
			"that one count, not those of this call\n", id)
	default:
		fmt.Fprintf(c.stdout, "sale %s is there\n", id)
	}
	if err := c.printNext(ctx, id); err != nil {
		return err
	}
	c.line("foods", "%s", first.Catalog)
	if past, err := turnover.OpenPast(ctx, c.store.redis, before.Sale); err == nil {
		past.Close()
		c.line("before", "sale %s is kept: flashsale sale export -sale %[1]s", before.Sale)
	}
	c.line("servers", "those with this catalogue take it over by themselves; others need it, then SIGHUP or a "+
		"restart")
	return nil
}

// printNext prints the state and the times with which the next sale begins.
func (c *saleCommand) printNext(ctx context.Context, id string) error {
	sale, leave, err := redisx.Connect(ctx, c.store.redis, id, 0)
	if err != nil {
		return err
	}
	defer leave()
	current, err := sale.Change(redisx.Change{})
	if err == nil {
		c.line("state", "%s", current.State)
		c.printTimes(current)
	}
	return err
}

// refusedNext adds what to do to the reason why the next sale is not opened.
func refusedNext(err error) error {
	switch {
	case errors.Is(err, turnover.ErrNotClosed):
		return fmt.Errorf("%w; run flashsale sale close, then export, or add -force", err)
	case errors.Is(err, turnover.ErrNotExported):
		return fmt.Errorf("%w; run flashsale sale export -o FILE, or add -force", err)
	case errors.Is(err, turnover.ErrHeld):
		return fmt.Errorf("%w; wait until then and export again, or add -force: then they are released", err)
	case errors.Is(err, turnover.ErrOverAlready):
		return fmt.Errorf("%w; name a later -closes-at, or none", err)
	case errors.Is(err, turnover.ErrLedgerBehind):
		return fmt.Errorf("%w; wait for a server with -ledger to write them, or add -force: then those that no "+
			"server writes within seconds are only in the orders that are kept", err)
	case errors.Is(err, redisx.ErrSaleGone):
		return fmt.Errorf("%w: another call has just opened the next sale", errOtherNext)
	}
	return err
}
