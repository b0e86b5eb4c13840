package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"flashsale/internal/catalog"
	"flashsale/internal/export"
	"flashsale/internal/rooms/accounts"
	"flashsale/internal/wholefile"
	"flashsale/redisx"
	"flashsale/redisx/turnover"
)

// exportBuffer is how much of an export is written at once, in bytes.
const exportBuffer = 64 << 10

// errNoPrices is the error of exporting a past sale without its prices.
var errNoPrices = errors.New("the prices of that sale are not known: it was not exported before the next " +
	"one was opened; start this command with the catalogue of that sale")

// catalogue reads the catalogue of the flags.
func (c *saleCommand) catalogue(ctx context.Context) (*catalog.Catalog, error) {
	return loadCatalogue(ctx, c.cfg.Config)
}

// export writes all orders of the sale of -sale, or of the sale in Redis.
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
	if marker != nil {
		c.store.redis.Hold = marker.Hold
	}
	return c.exportCurrent(ctx, id, loaded)
}

func (c *saleCommand) exportCurrent(ctx context.Context, id string, loaded *catalog.Catalog) error {
	noted, err := turnover.BeginExport(ctx, c.store.redis, id)
	if err != nil {
		return err
	}
	sale, leave, err := redisx.Connect(ctx, c.store.redis, id, len(loaded.Foods()))
	if err != nil {
		return err
	}
	defer leave()
	names := loaded.Names()
	in := turnover.Exported{Start: piecesOf(loaded), Prices: prices(loaded),
		Users: names.Fingerprint()}
	err = c.withNames(ctx, names.Name, func(names export.Names) (err error) {
		book := c.book(id, in.Prices, names)
		book.States = sale.Hold() > 0
		book.Foods = loaded.FoodNames(c.cfg.Language)
		book.Currency, book.Decimals = currencyOf(loaded)
		in.Orders, in.Pieces, err = c.write(ctx, book, sale.ScanOrders().Next)
		return err
	})
	if err != nil {
		return err
	}
	counts, err := noted.End(ctx, in)
	switch {
	case errors.Is(err, turnover.ErrOtherPieces):
		return fmt.Errorf("%w: it does not count for the next sale; Redis has lost orders: restore them, or go "+
			"on with flashsale sale new -force", err)
	case err != nil:
		return fmt.Errorf("the export is whole, but it does not count for the next sale: %w", err)
	case counts:
		fmt.Fprintf(c.stderr, "%d orders of sale %s; the next sale may be opened\n", in.Orders, id)
	default:
		fmt.Fprintf(c.stderr, "%d orders of sale %s so far; it is not closed, so the next sale needs another "+
			"export\n", in.Orders, id)
	}
	return nil
}

// exportPast writes the orders of a sale that has ended.
func (c *saleCommand) exportPast(ctx context.Context, loaded *catalog.Catalog) error {
	past, err := turnover.OpenPast(ctx, c.store.redis, c.cfg.Sale)
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
	names, named := loaded.Names(), ""
	name := names.Name
	if !names.Extends(past.Users) {
		name = func(uint32) []byte { return nil }
		named = " (without names of the catalogue: its users are not known to be that sale's)"
	}
	next := func(ctx context.Context) ([]redisx.Order, error) { return past.Next(ctx, len(known)) }
	return c.withNames(ctx, name, func(names export.Names) error {
		book := c.book(past.ID, known, names)
		book.States = past.Holds
		if past.Catalog == firstStock(loaded).Catalog { // else its foods and its currency are not known
			book.Foods = loaded.FoodNames(c.cfg.Language)
			book.Currency, book.Decimals = currencyOf(loaded)
		}
		orders, _, err := c.write(ctx, book, next)
		if err == nil {
			fmt.Fprintf(c.stderr, "%d orders of sale %s, which has ended%s\n", orders, past.ID, named)
		}
		return err
	})
}

// withNames lets an export ask for names: of the catalogue's users by name, and with -chat of the people who
// have registered, in whatever sale they bought.
func (c *saleCommand) withNames(
	ctx context.Context, name func(user uint32) []byte, use func(export.Names) error,
) error {
	if !c.cfg.Chat {
		return use(export.NamesBy(name))
	}
	return withAccounts(ctx, accounts.Config{Redis: c.store.redis.Spread(), NameOf: name},
		func(a *accounts.Accounts) error { return use(a.Names) })
}

func (c *saleCommand) book(sale string, prices []int64, names export.Names) *export.Book {
	return &export.Book{Format: export.Format(c.cfg.Format), Rows: export.Rows(c.cfg.Rows), BOM: c.cfg.BOM,
		Sale: sale, Price: export.PricesOf(prices), Names: names}
}

// currencyOf is the currency of a catalogue and its decimals, "" and 0 without one.
func currencyOf(c *catalog.Catalog) (currency string, decimals int) {
	decimals, _ = catalog.Decimals(c.Currency())
	return c.Currency(), decimals
}

// write writes the orders to the file of -o or to standard output. When the file is safe on disk it returns
// the numbers of orders and pieces.
func (c *saleCommand) write(
	ctx context.Context, book *export.Book, next export.Pages,
) (orders int, pieces int64, err error) {
	if book.Rows == export.Items {
		next = export.Sorted(next, 0)
	}
	to := func(w io.Writer) error {
		orders, pieces, err = writeOrders(ctx, w, book, next)
		return err
	}
	if c.cfg.Output != "" {
		err = wholefile.Write(c.cfg.Output, func(file *os.File) error { return to(file) })
		return orders, pieces, err
	}
	if err := to(c.stdout); err != nil {
		return orders, pieces, err
	}
	if file, ok := c.stdout.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			return orders, pieces, file.Sync()
		}
	}
	return orders, pieces, nil
}

// writeOrders writes the orders, a page of Redis at a time.
func writeOrders(
	ctx context.Context, to io.Writer, book *export.Book, next export.Pages,
) (orders int, pieces int64, err error) {
	w := bufio.NewWriterSize(to, exportBuffer)
	text := book.AppendHead(nil)
	for {
		if _, err := w.Write(text); err != nil {
			return orders, pieces, fmt.Errorf("cannot write the export: %w", err)
		}
		page, err := next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return orders, pieces, fmt.Errorf("the export breaks off: %w", err)
		}
		if text, err = book.AppendPage(text[:0], page); err != nil {
			return orders, pieces, fmt.Errorf("the export breaks off: %w", err)
		}
		for i := range page {
			for _, item := range page[i].Items {
				pieces += item.Count
			}
		}
		orders += len(page)
	}
	if err := w.Flush(); err != nil {
		return orders, pieces, fmt.Errorf("cannot write the export: %w", err)
	}
	return orders, pieces, nil
}
