package app

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"flashsale/handlers"
	"flashsale/internal/catalog"
	"flashsale/internal/config"
	"flashsale/redisx"
	"flashsale/redisx/turnover"
)

var nextRoom = room{name: "next sale", keep: (*supervisor).keepNext, serve: (*worker).serveNext}

// serveNext serves what operators do about the next sale.
func (w *worker) serveNext() (part, error) {
	ask := func(wish handlers.NextWish) (handlers.NextPlan, error) { return askDesk(w.Desk, wish) }
	return part{routes: handlers.NextSale(ask)}, nil
}

// keepNext answers the workers.
func (s *supervisor) keepNext(context.Context) (part, error) {
	return part{run: func(ctx context.Context) error {
		s.desk.run(ctx, s.grant)
		return nil
	}}, nil
}

// grant looks at the next sale, or opens it, as flashsale sale new does: with the catalogue that this server
// reads then, and with the orders kept. What was opened already is told again.
func (s *supervisor) grant(ctx context.Context, wish handlers.NextWish) (plan handlers.NextPlan, err error) {
	found, err := redisx.ReadMarker(ctx, s.store.redis)
	switch {
	case err != nil:
		return plan, err
	case !wish.Look && found.Follows(wish.Sale) && found.Previous[0] == wish.Sale:
		return handlers.NextPlan{Sale: wish.Sale, Next: found.Sale}, nil
	case found.Sale != wish.Sale && wish.Sale != "":
		return plan, redisx.ErrOtherSale
	}
	before := s.serving()
	if before.Sale != found.Sale { // it takes that one over first
		return plan, redisx.ErrUnavailable
	}
	loaded, err := before.catalog.LoadNext(ctx, before.source, s.cfg.ForceReload)
	if err == nil {
		err = checkPictures(s.cfg, loaded)
	}
	if err == nil {
		err = checkPrices(s.cfg, loaded)
	}
	if err != nil {
		return plan, &handlers.NextFailedError{Reason: err.Error()}
	}
	exported, err := turnover.IsExported(ctx, s.store.redis, found.Sale)
	if err != nil {
		return plan, err
	}
	first := firstStock(loaded)
	plan = handlers.NextPlan{Sale: found.Sale, Foods: len(first.Stock), Pieces: piecesOf(loaded),
		Users: loaded.Users(), SameFoods: first.Catalog == found.Catalog, Exported: exported}
	if wish.Look {
		return plan, nil
	}
	if !exported {
		if err := s.exportBefore(ctx, found, before.catalog); err != nil {
			return plan, err
		}
	}
	plan.Exported = true
	plan.Next, _, err = turnover.OpenNext(ctx, s.store.redis, turnover.Next{By: wish.By, Before: found.Sale,
		Catalog: first.Catalog, Stock: first.Stock,
		Times: redisx.Times{OpensAt: wish.OpensAt, ClosesAt: wish.ClosesAt}})
	if err == nil {
		slog.Info("an operator has opened the next sale", "sale", plan.Next, "before", plan.Sale, "by", wish.By)
	}
	return plan, err
}

// checkPictures refuses a catalogue that this server could not take over for want of its pictures.
func checkPictures(cfg *config.Config, c *catalog.Catalog) error {
	if !cfg.Catalog.BuiltIn() && len(c.Pictures()) > 0 && cfg.Images == "" {
		return errors.New("foods name files as their pictures, and this server has no folder of pictures " +
			"(-images)")
	}
	return nil
}

// exportBefore keeps the orders of the closed sale as a file in the data folder.
func (s *supervisor) exportBefore(ctx context.Context, found *redisx.Marker, of *catalog.Catalog) error {
	sale, leave, err := redisx.Connect(ctx, s.store.redis, found.Sale, 0)
	if err != nil {
		if found.Next != "" {
			return nil // a turnover is under way, which the next step completes
		}
		return err
	}
	defer leave()
	now, err := sale.Change(redisx.Change{})
	switch {
	case err != nil:
		return err
	case now.State != redisx.StateClosed:
		return turnover.ErrNotClosed
	}
	c := &saleCommand{program: &program{stdout: io.Discard, stderr: io.Discard}, store: s.store,
		cfg: &config.SaleCommand{Config: s.cfg, Format: "csv", Rows: "orders",
			Output: s.folder.File(exportName(found.Sale))}}
	if err := c.exportCurrent(ctx, found.Sale, of); err != nil { // it changes nothing
		return &handlers.NextFailedError{Reason: err.Error()}
	}
	return nil
}

// exportName is the file of a sale's orders in the data folder.
func exportName(sale string) string { return "orders-" + sale + ".csv" }
