package app

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"flashsale/redisx"
	"flashsale/redisx/turnover"
)

const (
	followEvery = time.Second // between two looks whether the next sale was opened

	// A turnover that is under way for so long was most likely left by a command that has died.
	turnoverPatience = 30 * time.Second

	takeOverMin = time.Second     // first pause after a sale that could not be taken over
	takeOverMax = 5 * time.Minute // longest pause
)

// followSales is the room that notices the next sale in Redis, and completes its opening where whoever
// began it does not. It also logs what is changed of the sale that this server serves.
func (s *supervisor) followSales(ctx context.Context) error {
	redis, follower := s.store.redis, s.follower
	var connected sync.WaitGroup
	defer connected.Wait()
	connected.Go(func() { _ = follower.Run(ctx) }) // it returns nil
	look := time.NewTicker(followEvery)
	defer look.Stop()
	var begun patience
	var attempts attempts
	for {
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil
		}
		logChanges(follower, *s.serving.Load())
		marker, err := follower.Marker()
		switch {
		case err != nil: // others log it
		case begun.lost(marker.Next, time.Now()):
			slog.Warn("the opening of the next sale was not completed; this server completes it",
				"sale", marker.Sale, "next", marker.Next)
			if _, err := turnover.Complete(ctx, redis); err != nil {
				slog.Error("cannot complete the opening of the next sale", "error", err)
			}
		case marker.Next == "" && marker.Follows(*s.serving.Load()) && attempts.due(marker.Sale, time.Now()):
			select {
			case s.successors <- marker:
			default: // it is being taken over
			}
		}
	}
}

// patience is how long a turnover has been under way.
type patience struct {
	next  string
	since time.Time
}

// lost reports whether the turnover to this sale, "" for none, takes too long. Once it has, it is given as
// much time again.
func (p *patience) lost(next string, now time.Time) bool {
	if next != p.next {
		p.next, p.since = next, now
	}
	if next == "" || now.Sub(p.since) < turnoverPatience {
		return false
	}
	p.since = now
	return true
}

// attempts paces the attempts to take a sale over.
type attempts struct {
	sale  string
	next  time.Time
	pause time.Duration
}

func (a *attempts) due(sale string, now time.Time) bool {
	if sale != a.sale {
		*a = attempts{sale: sale, pause: takeOverMin}
	}
	if now.Before(a.next) {
		return false
	}
	a.next = now.Add(a.pause)
	a.pause = min(2*a.pause, takeOverMax)
	return true
}

// takeOver has this server serve the sale that has followed on its own. After an error it goes on as before,
// which is to answer orders with 503.
func (s *supervisor) takeOver(ctx context.Context, found *redisx.Marker) {
	if s.sale.Sale == found.Sale {
		return
	}
	if err := s.serveNext(ctx, found); err != nil {
		slog.Error("cannot take over the next sale; orders get 503 here until that is possible, which SIGHUP "+
			"tries at once", "sale", s.sale.Sale, "next", found.Sale, "error", err)
		return
	}
	slog.Info("this server has taken over the next sale", "sale", s.sale.Sale, "before", found.Previous[0])
}

func (s *supervisor) serveNext(ctx context.Context, found *redisx.Marker) error {
	next, err := s.openNext(ctx, found)
	if err != nil {
		return err
	}
	before := s.sale
	s.sale = next
	if err := s.replaceWorkers(ctx); err != nil {
		s.sale = before
		return fmt.Errorf("cannot replace the workers: %w", err)
	}
	s.followLedger()
	if s.metrics != nil {
		s.metrics.Follow(s.watchSale(), piecesOf(next.catalog))
	}
	s.serving.Store(&next.Sale)
	if s.store.durable { // the sale is served, whether its id can be written or not
		if err := s.folder.WriteSale(next.Sale, s.store.redis.Address); err != nil {
			slog.Error("the data folder still names the sale before", "sale", next.Sale, "error", err)
		}
	}
	return nil
}

// openNext reads the catalogue again and joins the sale that was found.
func (s *supervisor) openNext(ctx context.Context, found *redisx.Marker) (*opening, error) {
	next := *s.sale
	var err error
	next.catalog, err = s.sale.catalog.LoadNext(ctx, next.source, s.cfg.ForceReload)
	if err != nil {
		return nil, err
	}
	wanted := firstStock(next.catalog)
	if wanted.Catalog != found.Catalog {
		return nil, fmt.Errorf("%w: sale %s has %s; the catalogue of this server has %s: give it that sale's",
			redisx.ErrOtherFoods, found.Sale, found.Catalog, wanted.Catalog)
	}
	wanted.Only, wanted.Alone = found.Sale, next.alone
	if wanted.Server, err = next.fingerprints(); err != nil {
		return nil, err
	}
	opened, err := turnover.Open(ctx, next.Redis, wanted)
	if err != nil {
		return nil, err
	}
	next.warnOfCutOff()
	next.serve(opened)
	warnOf(opened.Differs, next.alone)
	return &next, nil
}

// followLedger has the room of the ledger write the orders of the sale that was taken over.
func (s *supervisor) followLedger() {
	if s.ledger == nil {
		return
	}
	s.ledger = s.ledger.Next(s.sale.Sale, prices(s.sale.catalog))
	s.writer.Store(s.ledger)
	s.nextLedger <- s.ledger
}

// keepLedger is the room of the ledger: it writes the orders of one sale after the other. That of a sale
// before stops as at the end of the server, and writes what is left.
func (s *supervisor) keepLedger(ctx context.Context) error {
	for current := s.writer.Load(); ; {
		run, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- current.Run(run) }()
		select {
		case next := <-s.nextLedger:
			stop()
			if err := <-ended; err != nil {
				return err
			}
			current = next
		case err := <-ended:
			stop()
			return err
		}
	}
}

// followNow takes the next sale over, if there is one.
func (s *supervisor) followNow(ctx context.Context) {
	found, err := redisx.ReadMarker(ctx, s.store.redis)
	if err == nil && found.Next == "" && found.Follows(s.sale.Sale) {
		s.takeOver(ctx, found)
	}
}
