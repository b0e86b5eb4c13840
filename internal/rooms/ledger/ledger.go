// Package ledger writes the orders of a sale into a MySQL or MariaDB database, each exactly once.
//
// It stands behind the sale, not in its way. One script places an order in Redis and puts it into a stream;
// one consumer of each server takes the orders from there to the database, in batches. An order leaves the
// stream only after the commit, and the tables' primary keys make a batch that is written twice count once.
// So if the server, Redis or the database ends at any moment, that costs only time: an order that is not
// committed is still in the stream. While the database is away the sale goes on, and the stream grows in the
// memory of Redis.
//
// No request may ask it, and it changes nothing in Redis but the stream. It is slow where many orders were
// placed before the ledger was switched on: then it reads every order of the sale.
package ledger

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/internal/background"
	"flashsale/redisx"
	"flashsale/redisx/orderstream"
)

const (
	batchMax      = 1000                   // orders in one transaction
	pause         = 100 * time.Millisecond // between two reads of the stream: makes batches longer
	retryMin      = 100 * time.Millisecond // first pause after a fault
	retryMax      = time.Second            // longest pause after a fault
	takeOverIdle  = 15 * time.Second       // after it a batch that is not done goes to another consumer
	takeOverEvery = 5 * time.Second        // between two searches for such batches
	flushLimit    = 5 * time.Second        // longest time that a stop goes on writing
	behindAfter   = 5 * time.Second        // age of a waiting order from which the log names it
	behindEvery   = 10 * time.Second       // between two such lines
)

// Config is what a Ledger needs.
type Config struct {
	Database *Database
	Redis    redisx.Config
	Sale     string
	Prices   []int64 // of food 1, 2, 3, ...
	Address  string  // host:port of this server, which tells it from the others on this machine
}

// Ledger is one server's writer of the sale's orders.
type Ledger struct {
	cfg      Config
	book     book
	consumer string   // name of this server in the sale, the same after its restart
	writers  []writer // one for each slice of the sale

	// The constants, except in tests.
	takeOverIdle, takeOverEvery, behindAfter, behindEvery, flushLimit time.Duration
}

// New switches the ledger of the sale on in Redis, for all its servers. The database need not answer.
func New(ctx context.Context, cfg Config) (*Ledger, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("cannot name this server for the ledger: %w", err)
	}
	l := newLedger(cfg, host+" "+cfg.Address)
	for i := range l.writers {
		stream, err := l.writers[i].open(ctx)
		if err != nil {
			return nil, err
		}
		stream.Close()
	}
	return l, nil
}

func newLedger(cfg Config, consumer string) *Ledger {
	l := &Ledger{
		cfg: cfg, book: book{sale: cfg.Sale, prices: cfg.Prices}, consumer: consumer,
		takeOverIdle: takeOverIdle, takeOverEvery: takeOverEvery,
		behindAfter: behindAfter, behindEvery: behindEvery, flushLimit: flushLimit,
	}
	l.writers = make([]writer, cfg.Redis.SliceCount())
	for i := range l.writers {
		l.writers[i].Ledger, l.writers[i].slice = l, i
	}
	return l
}

// Next makes the writer of the sale that follows on this one's. Redis need not answer: Run switches that
// sale's ledger on, and tries again until it can.
func (l *Ledger) Next(sale string, prices []int64) *Ledger {
	cfg := l.cfg
	cfg.Sale, cfg.Prices = sale, prices
	return newLedger(cfg, l.consumer)
}

// writer writes the orders of one slice.
type writer struct {
	*Ledger
	slice   int
	failing atomic.Bool // one line when it begins and one when it ends
}

func (w *writer) open(ctx context.Context) (*orderstream.Stream, error) {
	return orderstream.Open(ctx, w.cfg.Redis, w.cfg.Sale, w.slice, len(w.cfg.Prices), w.consumer)
}

// Up reports whether the last orders got into the database.
func (l *Ledger) Up() bool {
	for i := range l.writers {
		if l.writers[i].failing.Load() {
			return false
		}
	}
	return true
}

// Run writes orders until ctx ends, then the orders that are still in the stream, for flushLimit at most. It
// logs faults of Redis and of the database and tries again for as long as they last. It returns nil.
func (l *Ledger) Run(ctx context.Context) error {
	write, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	context.AfterFunc(ctx, func() { time.AfterFunc(l.flushLimit, stop) })
	var watching sync.WaitGroup
	watching.Go(func() { l.watch(ctx) })
	for i := range l.writers {
		watching.Go(func() { l.writers[i].run(ctx, write) })
	}
	watching.Wait()
	return nil
}

// run writes the orders of the slice.
func (w *writer) run(ctx, write context.Context) {
	for failures := 1; ; failures++ {
		err := w.session(ctx, write, func() {
			if w.failing.Swap(false) {
				slog.Info("orders go to the database again", "database", w.cfg.Database)
			}
			failures = 1
		})
		if ctx.Err() != nil {
			if err != nil {
				slog.Warn("the ledger stops before all orders are in the database; they stay in Redis",
					"error", err)
			}
			return
		}
		if !w.failing.Swap(true) {
			slog.Error("orders do not get into the database; they wait in Redis",
				"database", w.cfg.Database, "error", err)
		}
		background.Pause(ctx, background.Delay(failures, retryMin, retryMax))
	}
}

// session writes orders on one connection to Redis until something fails, or until ctx has ended and no
// order is left. It calls progress when it has got further than the session before.
func (w *writer) session(ctx, write context.Context, progress func()) error {
	stream, err := w.open(write)
	if err != nil {
		return err
	}
	defer stream.Close()
	if err := w.cfg.Database.Prepare(write); err != nil {
		return err
	}
	if stream.Filling() {
		if err := w.fill(write, stream); err != nil {
			return err
		}
	}
	return w.consume(ctx, write, stream, progress)
}

// fill writes every order of the sale, because some were placed before the stream was there.
func (l *Ledger) fill(ctx context.Context, stream *orderstream.Stream) error {
	sale, leave, err := redisx.Connect(ctx, l.cfg.Redis, l.cfg.Sale, len(l.cfg.Prices))
	if err != nil {
		return err
	}
	defer leave()
	count := 0
	err = l.book.scan(ctx, l.cfg.Redis, sale, func(entries []entry) error {
		count += len(entries)
		return l.cfg.Database.write(ctx, entries)
	})
	if err != nil {
		return err
	}
	if count > 0 {
		slog.Info("the ledger was just switched on: the orders that were there are in the database",
			"orders", count)
	}
	return stream.Filled()
}

// consume moves batches: first the batches that this consumer was given before, because a fault may have
// stopped it halfway.
func (l *Ledger) consume(ctx, write context.Context, stream *orderstream.Stream, progress func()) error {
	look := time.NewTicker(pause)
	defer look.Stop()
	var tookOver time.Time
	for before := true; ; {
		orders, err := stream.Read(before, batchMax)
		if err == nil {
			err = l.move(write, stream, orders)
		}
		if err != nil {
			return err
		}
		switch {
		case before:
			before = len(orders) > 0
			continue
		case time.Since(tookOver) >= l.takeOverEvery:
			if err := stream.TakeOver(l.takeOverIdle, batchMax); err != nil {
				return err
			}
			before, tookOver = true, time.Now()
			continue
		case len(orders) == batchMax:
			progress()
			continue
		case len(orders) == 0 && ctx.Err() != nil:
			return nil
		}
		progress()
		select {
		case <-look.C:
		case <-ctx.Done():
		}
	}
}

// move writes a batch and only then takes it from the stream.
func (l *Ledger) move(ctx context.Context, stream *orderstream.Stream, orders []orderstream.Order) error {
	if len(orders) == 0 {
		return nil
	}
	if l.cfg.Redis.Hold > 0 {
		if err := l.writeHeld(ctx, stream, orders); err != nil {
			return err
		}
		return stream.Done(orders)
	}
	entries := make([]entry, len(orders))
	for i, order := range orders {
		entries[i] = l.book.entry(order.Order)
	}
	if err := l.cfg.Database.write(ctx, entries); err != nil {
		return err
	}
	return stream.Done(orders)
}

// writeHeld writes what held orders are now: a batch may have one several times, and servers may write
// theirs in any order.
func (l *Ledger) writeHeld(
	ctx context.Context, stream *orderstream.Stream, orders []orderstream.Order,
) error {
	now, err := stream.Now(orders)
	if err != nil {
		return err
	}
	return l.book.inBatches(now, func(entries []entry) error { return l.cfg.Database.write(ctx, entries) })
}

// watch logs how far the database is behind, one line in behindEvery at most.
func (l *Ledger) watch(ctx context.Context) {
	behind := false
	background.Every(ctx, l.behindEvery, func() {
		backlog, err := redisx.ReadBacklog(ctx, l.cfg.Redis, l.cfg.Sale)
		switch age := backlog.Age(time.Now()); {
		case err != nil: // Redis is away: Run has logged it
		case age >= l.behindAfter:
			slog.Warn("the database is behind the sale", "orders", backlog.Orders,
				"oldest", age.Round(time.Millisecond), "database", l.cfg.Database)
			behind = true
		case behind:
			slog.Info("the database is no longer behind the sale", "database", l.cfg.Database)
			behind = false
		}
	})
}
