package app

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"

	"flashsale/internal/catalog"
	"flashsale/internal/export"
	"flashsale/redisx"
)

// exportBuffer is how much of an export is written at once, in bytes.
const exportBuffer = 64 << 10

// errNoPrices is the outcome of an export of a sale of the past without its prices.
var errNoPrices = errors.New("the prices of that sale are not known: it was not exported before the next " +
	"one was opened; start this command with the catalogue of that sale")

// pages returns the next orders, io.EOF after the last.
type pages func(context.Context) ([]redisx.Order, error)

// catalogue reads the catalogue of the flags.
func (c *saleCommand) catalogue(ctx context.Context) (*catalog.Catalog, error) {
	source := c.cfg.Catalog
	if source.RootPassword == "" && source.BuiltIn() {
		source.RootPassword = rand.Text() // for a catalogue in which nothing logs in
	}
	return catalog.Load(ctx, source)
}

// export writes all orders of the sale that -sale names, or of the one that is there.
func (c *saleCommand) export(ctx context.Context) error {
	marker, err := redisx.ReadMarker(ctx, c.store.redis)
	if err != nil && !errors.Is(err, redisx.ErrNoSale) {
		return err
	}
	loaded, err := c.catalogue(ctx)
	if err != nil {
		return err
	}
	if c.cfg.Sale != "" && (marker == nil || marker.Sale != c.cfg.Sale) {
		return c.exportPast(ctx, loaded)
	}
	id, err := redisx.Find(ctx, c.store.redis, firstStock(loaded).Catalog, c.cfg.Sale)
	if errors.Is(err, redisx.ErrTurning) {
		return c.between(err, marker)
	}
	if err != nil {
		return refusedSale(err, c.store)
	}
	return c.exportCurrent(ctx, id, loaded)
}

func (c *saleCommand) exportCurrent(ctx context.Context, id string, loaded *catalog.Catalog) error {
	noted, err := redisx.BeginExport(ctx, c.store.redis, id)
	if err != nil {
		return err
	}
	sale, leave, err := redisx.Connect(ctx, c.store.redis, id, len(loaded.Foods()))
	if err != nil {
		return err
	}
	defer leave()
	book := c.book(id, prices(loaded), loaded)
	orders, err := c.write(ctx, book, sale.ScanOrders().Next)
	if err != nil {
		return err
	}
	counts, err := noted.End(ctx, orders, book.Prices)
	if err != nil {
		return fmt.Errorf("the export is whole, but it does not count for the next sale: %w", err)
	}
	if counts {
		fmt.Fprintf(c.stderr, "%d orders of sale %s; the next sale may be opened\n", orders, id)
	} else {
		fmt.Fprintf(c.stderr, "%d orders of sale %s so far; it is not closed, so the next sale needs another "+
			"export\n", orders, id)
	}
	return nil
}

// exportPast writes the orders of a sale that has ended.
func (c *saleCommand) exportPast(ctx context.Context, loaded *catalog.Catalog) error {
	past, err := redisx.OpenPast(ctx, c.store.redis, c.cfg.Sale)
	if err != nil {
		return err
	}
	defer past.Close()
	known := past.Prices
	if past.Catalog == firstStock(loaded).Catalog {
		known = prices(loaded)
	}
	if known == nil {
		return fmt.Errorf("cannot export sale %s: %w", past.ID, errNoPrices)
	}
	next := func(ctx context.Context) ([]redisx.Order, error) { return past.Next(ctx, len(known)) }
	orders, err := c.write(ctx, c.book(past.ID, known, loaded), next)
	if err == nil {
		fmt.Fprintf(c.stderr, "%d orders of sale %s, which has ended\n", orders, past.ID)
	}
	return err
}

func (c *saleCommand) book(sale string, prices []int64, loaded *catalog.Catalog) *export.Book {
	return &export.Book{Format: export.Format(c.cfg.Format), Sale: sale, Prices: prices,
		Name: loaded.Names().Name}
}

// write writes the orders to the file of -o or to standard output, and returns their number once they are
// safe.
func (c *saleCommand) write(ctx context.Context, book *export.Book, next pages) (orders int, err error) {
	to := func(w io.Writer) error {
		orders, err = writeOrders(ctx, w, book, next)
		return err
	}
	if c.cfg.Output != "" {
		return orders, export.WriteFile(c.cfg.Output, to)
	}
	if err := to(c.stdout); err != nil {
		return orders, err
	}
	if file, ok := c.stdout.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			return orders, file.Sync()
		}
	}
	return orders, nil
}

// writeOrders writes the orders, a page of Redis at a time.
func writeOrders(ctx context.Context, to io.Writer, book *export.Book, next pages) (orders int, err error) {
	w := bufio.NewWriterSize(to, exportBuffer)
	text := book.AppendHead(nil)
	for {
		if _, err := w.Write(text); err != nil {
			return orders, fmt.Errorf("cannot write the export: %w", err)
		}
		page, err := next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return orders, fmt.Errorf("the export breaks off: %w", err)
		}
		text = text[:0]
		for i := range page {
			text = book.Append(text, &page[i])
		}
		orders += len(page)
	}
	if err := w.Flush(); err != nil {
		return orders, fmt.Errorf("cannot write the export: %w", err)
	}
	return orders, nil
}
