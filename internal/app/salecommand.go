package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"flashsale/internal/catalog"
	"flashsale/internal/config"
	"flashsale/redisx"
	"flashsale/redisx/turnover"
)

// terminal is the name of this command in the log of the sale.
const terminal = "terminal"

// refusals are the errors of commands that the state of the sale does not permit.
var refusals = []error{redisx.ErrStateConflict, redisx.ErrWrongTimes, redisx.ErrClosesInPast,
	redisx.ErrClocksDiffer, redisx.ErrOutOfStock, redisx.ErrKeyReused, errTimeOver, turnover.ErrNotClosed,
	turnover.ErrNotExported, turnover.ErrOtherPieces, turnover.ErrLedgerBehind, turnover.ErrOverAlready,
	turnover.ErrHeld, errOtherNext}

// errTimeOver refuses to open a sale at a time that is over.
var errTimeOver = errors.New("the sale cannot open at a time that is over")

// runSale is the command that runs a sale from a terminal.
func runSale(ctx context.Context, p *program, args []string) (code int) {
	ctx, stop := interruptible(ctx)
	defer stop()
	cfg, err := config.ParseSale(args, p.stdout)
	if err == nil {
		err = p.onStore(ctx, cfg.Config, func(store *store) error {
			return (&saleCommand{program: p, cfg: cfg, store: store}).run(ctx)
		})
	}
	return p.exitCode("sale", err, refusals)
}

// saleCommand is one run of flashsale sale.
type saleCommand struct {
	*program
	cfg   *config.SaleCommand
	store *store
}

func (c *saleCommand) run(ctx context.Context) error {
	if c.cfg.Verb == config.SaleExport {
		return c.export(ctx)
	}
	marker, err := c.marker(ctx)
	if err != nil {
		return err
	}
	switch c.cfg.Verb {
	case config.SaleStatus:
		return c.status(ctx, marker)
	case config.SaleNew:
		return c.next(ctx, marker)
	case config.SaleRestock:
		return c.restock(ctx, marker)
	case config.SaleLog:
		return c.printLog(ctx, marker)
	case config.SaleOrders:
		return c.printOrders(ctx, marker)
	case config.SaleEvents:
		return c.printEvents(ctx, marker)
	case config.SaleSums:
		return c.printSums(ctx, marker)
	}
	return c.change(ctx, marker)
}

// marker reads the marker of the sale of -sale, or of the sale in Redis.
func (c *saleCommand) marker(ctx context.Context) (*redisx.Marker, error) {
	marker, err := redisx.ReadMarker(ctx, c.store.redis)
	switch {
	case errors.Is(err, redisx.ErrNoSale):
		return nil, fmt.Errorf("%w; the first server that starts opens one", err)
	case err != nil:
		return nil, err
	case c.cfg.Sale != "" && c.cfg.Sale != marker.Sale:
		return nil, fmt.Errorf("-sale (SALE) is %s: %w: %s; name that one, or leave -sale out", c.cfg.Sale,
			redisx.ErrOtherSale, marker.Sale)
	}
	c.store.redis.Hold = marker.Hold // whatever the flag of this command
	return marker, nil
}

// change opens, pauses or closes the sale.
func (c *saleCommand) change(ctx context.Context, marker *redisx.Marker) error {
	sale, leave, err := redisx.Connect(ctx, c.store.redis, marker.Sale, 0)
	if err != nil {
		return c.between(err, marker)
	}
	defer leave()
	change := redisx.Change{By: terminal}
	switch c.cfg.Verb {
	case config.SaleOpen:
		change.State = redisx.StateOpen
		if !c.cfg.At.IsZero() {
			change.State, change.OpensAt = redisx.StateScheduled, &c.cfg.At
		}
	case config.SalePause:
		change.State = redisx.StatePaused
	case config.SaleClose:
		change.State = redisx.StateClosed
		if !c.cfg.At.IsZero() {
			change.State, change.ClosesAt = "", &c.cfg.At
		}
	}
	current, err := sale.Change(change)
	if err != nil {
		return c.refused(err, current)
	}
	c.printState(marker.Sale, current)
	return nil
}

// refused adds to an error of a change what the sale has, and what to do.
func (c *saleCommand) refused(err error, current redisx.Current) error {
	opens := c.cfg.Verb == config.SaleOpen
	switch {
	case errors.Is(err, redisx.ErrStateConflict) && opens: // at a time that is over
		return fmt.Errorf("%w: it is %s by the clock of Redis; -at must be a time to come, or leave it out to "+
			"open the sale now", errTimeOver, momentText(current.Now))
	case errors.Is(err, redisx.ErrClosesInPast):
		return fmt.Errorf("%w: it is %s by the clock of Redis; -at must be a time to come, or leave it out to "+
			"close the sale now", err, momentText(current.Now))
	case errors.Is(err, redisx.ErrStateConflict):
		return fmt.Errorf("%w: it is %s, and only an open sale can be paused", err, current.State)
	case errors.Is(err, redisx.ErrWrongTimes) && opens:
		return fmt.Errorf("%w: it closes at %s; -at must be earlier, or move that with flashsale sale close -at",
			err, momentText(current.ClosesAt))
	case errors.Is(err, redisx.ErrWrongTimes):
		return fmt.Errorf("%w: it opens at %s; -at must be later", err, momentText(current.OpensAt))
	}
	return err
}

// restock adds pieces of a food, or takes them back.
func (c *saleCommand) restock(ctx context.Context, marker *redisx.Marker) error {
	foods := 0
	if _, err := fmt.Sscanf(marker.Catalog, foodsFormat, &foods); err == nil && c.cfg.Food > foods {
		return fmt.Errorf("there is no food %d: sale %s has %d foods", c.cfg.Food, marker.Sale, foods)
	}
	sale, leave, err := redisx.Connect(ctx, c.store.redis, marker.Sale, 0)
	if err != nil {
		return c.between(err, marker)
	}
	defer leave()
	food, left, err := sale.Restock(redisx.Restock{By: terminal, Food: int64(c.cfg.Food), Add: int64(c.cfg.Add),
		Key: c.cfg.Key})
	switch {
	case errors.Is(err, redisx.ErrOutOfStock):
		return fmt.Errorf("%w: %d pieces of food %d are left, and -add %d would take back more", err, left,
			c.cfg.Food, c.cfg.Add)
	case err != nil:
		return err
	}
	fmt.Fprintf(c.stdout, "sale %s: food %d has %d pieces left\n", marker.Sale, food, left)
	return nil
}

// between adds what to do while the next sale is being opened.
func (c *saleCommand) between(err error, marker *redisx.Marker) error {
	if marker.Next != "" {
		return fmt.Errorf("%w %s in the place of %s; flashsale sale new, or the start of a server, completes that",
			redisx.ErrTurning, marker.Next, marker.Sale)
	}
	return err
}

func (c *saleCommand) printState(id string, current redisx.Current) {
	fmt.Fprintf(c.stdout, "sale %s: %s\n", id, current.State)
	c.printTimes(current)
}

func (c *saleCommand) printTimes(current redisx.Current) {
	c.line("now", "%s, by the clock of Redis", momentText(current.Now))
	c.line("opens at", "%s", momentText(current.OpensAt))
	c.line("closes at", "%s", momentText(current.ClosesAt))
}

func (c *saleCommand) line(name, format string, values ...any) {
	fmt.Fprintf(c.stdout, "  %-10s %s\n", name, fmt.Sprintf(format, values...))
}

// running connects to the sale of a marker, unless a turnover is under way. It returns the catalogue, too,
// which has the foods of that sale. leave ends the connection.
func (c *saleCommand) running(
	ctx context.Context, marker *redisx.Marker,
) (sale *redisx.Sale, loaded *catalog.Catalog, leave func(), err error) {
	if marker.Next != "" {
		return nil, nil, nil, c.between(nil, marker)
	}
	if loaded, err = c.catalogue(ctx); err != nil {
		return nil, nil, nil, err
	}
	if _, err := redisx.Find(ctx, c.store.redis, firstStock(loaded).Catalog, marker.Sale); err != nil {
		return nil, nil, nil, refusedSale(err, c.store)
	}
	sale, leave, err = redisx.Connect(ctx, c.store.redis, marker.Sale, len(loaded.Foods()))
	return sale, loaded, leave, err
}

// status prints the state, times, pieces and orders of the sale.
func (c *saleCommand) status(ctx context.Context, marker *redisx.Marker) error {
	sale, loaded, leave, err := c.running(ctx, marker)
	if err != nil {
		return err
	}
	defer leave()
	found, err := sale.Snapshot()
	if err != nil {
		return err
	}
	left, held, sold, restocked := int64(0), int64(0), int64(0), int64(0)
	for i, pieces := range firstStock(loaded).Stock {
		left, held, restocked = left+found.Left[i], held+found.HeldOf(i), restocked+found.Restocked[i]
		sold += found.SoldOf(i, pieces)
	}
	c.printState(marker.Sale, found.Current)
	if marker.Hold > 0 {
		c.line("pieces", "%d left, %d held, %d paid (%d restocked)", left, held, sold, restocked)
		c.line("hold", "%v, the next one ends at %s", marker.Hold, momentText(found.Due))
	} else {
		c.line("pieces", "%d left, %d sold (%d restocked)", left, sold, restocked)
	}
	c.line("orders", "%d", found.Orders)
	if n := found.Slices; n.All > 0 {
		c.line("slices", "%d: %d away, %d lost, %d behind, clocks %s apart", n.All, n.Away, n.Lost, n.Behind,
			n.Skew.Round(time.Millisecond))
	}
	if !marker.Exported.IsZero() {
		c.line("exported", "%s, %d orders", marker.Exported.Format(time.RFC3339), marker.Orders)
	}
	if len(marker.Previous) > 0 {
		c.line("before", "sale %s", marker.Previous[0])
	}
	return nil
}
