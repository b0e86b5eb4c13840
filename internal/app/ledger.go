package app

import (
	"context"
	"log/slog"
	"sync/atomic"

	"flashsale/internal/catalog"
	"flashsale/internal/config"
	"flashsale/internal/observe/figures"
	"flashsale/internal/observe/ops"
	"flashsale/internal/rooms/ledger"
	"flashsale/redisx"
)

var ledgerRoom = room{
	name: "ledger",
	read: func(cfg *config.Config) (any, error) {
		if !cfg.Chat {
			return ledgerSecret{}, nil
		}
		return ledgerSecret{cfg.Ledger}, nil
	},
	keep: (*supervisor).keepLedger,
}

// ledgerKeeper writes the orders of the current sale, then of each next sale.
type ledgerKeeper struct {
	current atomic.Pointer[ledger.Ledger]
	next    chan *ledger.Ledger // hands the next sale's ledger to run
}

// keepLedger switches the sale's ledger on if there is a database.
func (s *supervisor) keepLedger(ctx context.Context) (part, error) {
	if s.database == nil {
		o := s.serving()
		backlog, err := redisx.ReadBacklog(ctx, o.Redis, o.Sale)
		if err == nil && backlog.Kept {
			slog.Warn("this sale keeps a ledger, but -ledger is not set here: "+
				"orders wait in Redis until a server with it runs",
				"sale", o.Sale, "orders_waiting", backlog.Orders)
		}
		return part{}, err
	}
	k, err := s.newLedgerKeeper(ctx)
	if err != nil {
		return part{}, err
	}
	return part{run: k.run, followed: k.follow, figures: k.show}, nil
}

func (s *supervisor) newLedgerKeeper(ctx context.Context) (*ledgerKeeper, error) {
	o := s.serving()
	first, err := ledger.New(ctx, ledger.Config{
		Database: s.database, Redis: o.Redis, Sale: o.Sale, Prices: prices(o.catalog), Address: s.address(),
	})
	if err != nil {
		return nil, err
	}
	k := &ledgerKeeper{next: make(chan *ledger.Ledger, 1)}
	k.current.Store(first)
	return k, nil
}

func (k *ledgerKeeper) show(scrape *ops.Scrape) {
	scrape.SetFlag(figures.LedgerUp, k.current.Load().Up())
}

// follow makes run go on with the next sale.
func (k *ledgerKeeper) follow(o *opening) {
	next := k.current.Load().Next(o.Sale, prices(o.catalog))
	k.current.Store(next)
	k.next <- next
}

// run writes the orders of one sale after the other. Before it begins with the next sale it stops the old
// writer, which writes the orders that are left.
func (k *ledgerKeeper) run(ctx context.Context) error {
	for current := k.current.Load(); ; {
		run, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- current.Run(run) }()
		select {
		case next := <-k.next:
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

// prices returns the prices of food 1, 2, 3, ...
func prices(c *catalog.Catalog) []int64 {
	var list []int64
	for _, food := range c.Foods() {
		list = append(list, food.Price)
	}
	return list
}
