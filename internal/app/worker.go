package app

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"flashsale/handlers"
	"flashsale/internal/config"
	"flashsale/internal/credentials"
	"flashsale/internal/observe/accesslog"
	"flashsale/internal/observe/figures"
	"flashsale/internal/profiling"
	"flashsale/internal/rooms/accounts"
	"flashsale/internal/rooms/repeats"
	"flashsale/internal/rooms/sessions"
	"flashsale/internal/rooms/traffic"
	"flashsale/internal/serve/eventloop"
	"flashsale/internal/supervise"
	"flashsale/redisx"
	"flashsale/redisx/held"
	"flashsale/tokens"
)

const (
	// startWait is for Redis, before a worker serves without it. A worker that it replaces serves meanwhile.
	startWait = time.Second
	stopGrace = 100 * time.Millisecond // for idle connections at a stop: a request may be on its way
)

// worker is a process that serves the sale.
type worker struct {
	*opening
	cfg       *config.Config
	inherited *supervise.Worker
	count     *figures.Worker
	loop      *eventloop.Loop // nil with TLS: goroutines serve
	sale      *redisx.Sale
	held      *held.Orders   // nil without -hold
	accessLog *accesslog.Log // nil where it is off
	server    *handlers.Server
	stocked   chan struct{} // closed when Redis has answered with the stock, or that the sale is gone

	parts    []part              // of the rooms
	traffic  *traffic.Traffic    // for the live view; nil if the room is off
	sessions *sessions.Sessions  // for the accounts
	hasher   *credentials.Hasher // of the passwords of all rooms
	accounts *accounts.Accounts  // for the other rooms of the conversation; nil if that is off
	repeats  *repeats.Counter    // for the conversations; nil if the room is off
}

// runWorker serves the handover until the supervisor sends a signal: SIGTERM stops this worker, SIGHUP means
// that a new worker has replaced it.
func (p *program) runWorker(ctx context.Context, cfg *config.Config, inherited *supervise.Worker) error {
	o, err := unpack(inherited)
	if err != nil {
		return err
	}
	count, err := joinFigures(o.figures, inherited.Slot)
	if err != nil {
		return err
	}
	p.log.count(&count.LogLinesDropped)
	w := &worker{opening: o, cfg: cfg, inherited: inherited, count: count, stocked: make(chan struct{}),
		accessLog: p.newAccessLog(cfg, inherited, count), hasher: credentials.NewHasher(startHashing)}
	if err := w.open(); err != nil {
		return err
	}
	if err := profiling.Serve(cfg.Pprof, inherited.Slot); err != nil {
		slog.Error("cannot serve the profiles of this worker", "error", err) // an old worker may have the port
	}
	stop, cancel := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer cancel()
	retire, cancel := signal.NotifyContext(stop, syscall.SIGHUP)
	defer cancel()
	replaced := make(chan os.Signal, 1)
	signal.Notify(replaced, syscall.SIGHUP)
	tasks := newTasks()
	tasks.start(w.tasks(stop)...)
	select {
	case <-retire.Done():
		w.retired()
		go func() {
			for range replaced { // again, when the new worker was replaced too
				w.retired()
			}
		}()
	case <-tasks.over:
	}
	return tasks.stop()
}

// retired tells the rooms that a new worker has replaced this one.
func (w *worker) retired() {
	for _, p := range w.parts {
		if p.retired != nil {
			p.retired()
		}
	}
}

// open makes the server and the rooms, with this worker's share of the limits.
func (w *worker) open() error {
	keys, err := tokens.New(w.Sale, w.Secrets[0], w.Secrets[1:]...)
	if err != nil {
		return err
	}
	encryption, err := w.Certificate.TLS()
	if err != nil {
		return err
	}
	redis := w.Redis
	redis.Quiet, redis.Figures = w.inherited.Slot > 0, w.count
	redis.Registered, redis.Rules = w.cfg.Registered(), w.cfg.Rules != ""
	if encryption == nil {
		if w.loop, err = eventloop.New(); err != nil {
			return err
		}
		redis.Loop = w.loop
	}
	w.sale = redisx.Join(redis, w.Sale, len(w.catalog.Foods()), w.catalog.Users())
	w.server = handlers.New(handlers.Config{
		Catalog: w.catalog, Keys: keys, Sale: w.sale, TokenTTL: w.cfg.TokenTTL, TLS: encryption, Loop: w.loop,
		AdminFrom: w.cfg.AdminFrom, RootOff: w.cfg.RootOff,
		ServiceToken: w.ServiceToken, CartAddsMinute: w.cfg.CartAdds, Figures: w.count,
		PastSale: w.pastSale, PastSales: w.pastSales, Registered: redis.Registered,
		CatalogueBuyers: !w.cfg.RegisteredBuyers,
		ConnsMax:        w.cfg.WorkerConns(), ConnsPerAddressMax: w.cfg.MaxConnsPerIP,
		TrustedProxies: w.cfg.TrustedProxies, AccessLog: w.accessLog, RequestIDs: w.cfg.RequestIDs,
	})
	return w.serveRooms()
}

// tasks returns the tasks of a worker. The last one stops first: requests in flight need the stock and
// Redis.
func (w *worker) tasks(stop context.Context) (list []task) {
	if w.loop != nil { // the other tasks have their connections on it
		list = append(list, task{"event loop", w.loop.Run})
	}
	list = append(list, task{"redis", w.sale.Run}, task{"stock", w.publishStock})
	if w.accessLog != nil {
		list = append(list, task{"access log", w.accessLog.Run})
	}
	list = append(list, tasksOf(w.parts)...)
	return append(list, task{"http", func(ctx context.Context) error { return w.serve(ctx, stop) }})
}

// joinFigures makes this process count in the memory of its slot. It leaves the file open for the live view.
func joinFigures(file *os.File, slot int) (*figures.Worker, error) {
	count, err := figures.Join(file, slot)
	if err == nil {
		count.Starts.Inc()
	}
	return count, err
}

// publishStock is the task that reads the stock.
func (w *worker) publishStock(ctx context.Context) error {
	first := sync.OnceFunc(func() { close(w.stocked) })
	w.sale.Snapshots(ctx, w.cfg.SnapshotInterval, func(found redisx.Snapshot) {
		w.server.Publish(found)
		for _, p := range w.parts {
			if p.stock != nil {
				p.stock(&found)
			}
		}
		first()
	}, func() { // Redis has answered, but it holds another sale or none
		w.server.PublishGone()
		first()
	})
	return nil
}

// serve is the task that answers requests. When ctx ends it drains: idle connections stay open for most of
// -drain, so that clients learn of the end from a reply. Once stop (SIGTERM) has ended too, they stay for a
// moment.
func (w *worker) serve(ctx, stop context.Context) error {
	// Usually this takes a moment. While Redis is away a worker starts too and answers with 503.
	select {
	case <-w.stocked:
	case <-time.After(startWait):
		slog.Warn("Redis does not answer yet; serving without it")
	case <-ctx.Done():
		return nil
	}
	// A worker that takes the place of another must not refuse what that one has answered.
	for _, p := range w.parts {
		if p.up != nil {
			_ = awaitRoom(ctx, p.up, time.Second) // without it the room answers with 503, too
		}
	}
	failed := make(chan error, 1)
	go func() { failed <- w.server.Serve(w.inherited.Listener) }()
	if err := w.inherited.Ready(); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	return w.drain(stop)
}

func (w *worker) drain(stop context.Context) error {
	end := time.Now().Add(w.cfg.Drain)
	for _, p := range w.parts {
		if p.stop != nil {
			p.stop(end)
		}
	}
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	idle, cancel := context.WithTimeout(ctx, w.cfg.Drain*3/4)
	defer cancel()
	context.AfterFunc(stop, func() { time.AfterFunc(stopGrace, cancel) })
	return w.server.Drain(ctx, idle, w.inherited.Listener)
}
