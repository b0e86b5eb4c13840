package app

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"flashsale/internal/background"
	"flashsale/redisx"
	"flashsale/redisx/turnover"
)

const (
	followEvery = time.Second // between two checks for the next sale

	// The opening of a sale that takes longer was most likely left by a command that has died.
	turnoverPatience = 30 * time.Second

	takeOverMin = time.Second     // first pause after a sale that could not be taken over
	takeOverMax = 5 * time.Minute // longest pause
)

// followSales is the task that notices the next sale in Redis. It completes the sale's opening if the
// command that began it has died. It also logs changes to the sale that this server serves.
func (s *supervisor) followSales(ctx context.Context) error {
	var connected sync.WaitGroup
	defer connected.Wait()
	connected.Go(func() { _ = s.follower.Run(ctx) }) // it returns nil
	var begun patience
	var attempts attempts
	background.Every(ctx, followEvery, func() { s.follow(ctx, &begun, &attempts) })
	return nil
}

// follow looks once at the sale in Redis.
func (s *supervisor) follow(ctx context.Context, begun *patience, attempts *attempts) {
	sale := s.serving().Sale
	if changes := logChanges(s.follower, sale); len(changes) > 0 {
		for _, p := range s.parts {
			if p.changed != nil {
				p.changed(sale, changes)
			}
		}
	}
	marker, err := s.follower.Marker()
	switch {
	case err != nil: // the Redis client logs that Redis is away
	case begun.lost(marker.Next, time.Now()):
		slog.Warn("the opening of the next sale was not completed; this server completes it",
			"sale", marker.Sale, "next", marker.Next)
		if _, err := turnover.Complete(ctx, s.store.redis); err != nil {
			slog.Error("cannot complete the opening of the next sale", "error", err)
		}
	case marker.Next == "" && marker.Follows(s.serving().Sale) && attempts.due(marker.Sale, time.Now()):
		select {
		case s.successors <- marker:
		default: // a sale to take over waits already
		}
	}
}

// patience measures how long the opening of the next sale has been under way.
type patience struct {
	next  string
	since time.Time
}

// lost reports whether the opening of the sale next takes too long; next is "" if no sale is being opened.
// After true the time begins anew.
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

// takeOver makes this server serve the next sale. After an error it serves the old sale, so orders get 503.
func (s *supervisor) takeOver(ctx context.Context, found *redisx.Marker) {
	before := s.serving()
	if before.Sale == found.Sale {
		return
	}
	next, err := s.openNext(ctx, before, found)
	if err == nil {
		if err = s.replaceWorkers(ctx, next); err != nil {
			err = fmt.Errorf("cannot replace the workers: %w", err)
		}
	}
	if err != nil {
		s.logNotTaken(found, err)
		return
	}
	s.followed(before)
}

func (s *supervisor) logNotTaken(found *redisx.Marker, err error) {
	slog.Error("cannot take over the next sale; orders get 503 here until that succeeds; SIGHUP tries "+
		"at once", "sale", s.serving().Sale, "next", found.Sale, "error", err)
}

// waiting returns the sale that was opened after this one, nil if there is no such sale.
func (s *supervisor) waiting(ctx context.Context, sale string) *redisx.Marker {
	found, err := redisx.ReadMarker(ctx, s.store.redis)
	if err != nil || found.Next != "" || !found.Follows(sale) {
		return nil // the Redis client logs that Redis is away
	}
	return found
}

// openNext reads the catalogue again, joins the sale that was found and returns its opening.
func (s *supervisor) openNext(
	ctx context.Context, before *opening, found *redisx.Marker,
) (next *opening, err error) {
	next = before.copy()
	next.catalog, err = before.catalog.LoadNext(ctx, next.source, s.cfg.ForceReload)
	if err != nil {
		return nil, err
	}
	if err := makeImages(ctx, s.cfg, s.folder, next.catalog); err != nil {
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
	next.joined(opened)
	warnOf(opened.Differs, next.alone)
	return next, nil
}

// followed tells the rooms, the metrics and the data folder that the workers serve another sale.
func (s *supervisor) followed(before *opening) {
	now := s.serving()
	for _, p := range s.parts {
		if p.followed != nil {
			p.followed(now)
		}
	}
	if s.metrics != nil {
		s.metrics.Follow(s.watchSale(), piecesOf(now.catalog))
	}
	if s.store.durable { // the sale is served, whether its id can be written or not
		if err := s.folder.WriteSale(now.Sale, s.store.redis.Address); err != nil {
			slog.Error("the data folder still names the sale before", "sale", now.Sale, "error", err)
		}
	}
	slog.Info("this server has taken over the next sale", "sale", now.Sale, "before", before.Sale)
}
