package app

import (
	"context"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"flashsale/handlers"
	"flashsale/internal/config"
	"flashsale/internal/observe/accesslog"
	"flashsale/internal/observe/figures"
	"flashsale/internal/profiling"
	"flashsale/internal/rooms/blocklist"
	"flashsale/internal/rooms/limits"
	"flashsale/internal/rooms/live"
	"flashsale/internal/rooms/repeats"
	"flashsale/internal/rooms/traffic"
	"flashsale/internal/serve/eventloop"
	"flashsale/internal/supervise"
	"flashsale/redisx"
	"flashsale/tokens"
)

const (
	startWait = 200 * time.Millisecond // for Redis, before a worker serves without it
	stopGrace = 100 * time.Millisecond // for idle connections at a stop: a request may be on its way
)

// worker is a process that serves the sale.
type worker struct {
	cfg         *config.Config
	loop        *eventloop.Loop // nil where goroutines serve
	sale        *redisx.Sale
	blocklist   *blocklist.Blocklist // nil where there is none
	repeats     *repeats.Counter     // nil where the room is off
	limits      *limits.Limiter      // nil without rate limits, and without a file that may bring some
	traffic     *traffic.Traffic     // nil where the room is off
	accessLog   *accesslog.Log       // nil where the room is off
	live        *live.Hub            // nil where the room is off
	shownPieces []int64              // of each food, for publishLive only
	server      *handlers.Server
	listener    net.Listener
	ready       func() error
	stocked     chan struct{} // closed when the stock is known
}

// runWorker serves what the supervisor handed over until a signal from it: SIGTERM stops, SIGHUP retires.
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
	w, err := newWorker(cfg, o, inherited, count, p.newAccessLog(cfg, inherited, count))
	if err != nil {
		return err
	}
	if err := profiling.Serve(cfg.Pprof, inherited.Slot); err != nil {
		slog.Error("no profiles of this worker", "error", err) // the one it replaces has the port until it ends
	}
	stop, cancel := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer cancel()
	retire, cancel := signal.NotifyContext(stop, syscall.SIGHUP)
	defer cancel()
	replaced := make(chan os.Signal, 1)
	signal.Notify(replaced, syscall.SIGHUP)
	rooms := newRooms()
	rooms.start(w.rooms(stop)...)
	select {
	case <-retire.Done():
		w.followRules()
		go func() {
			for range replaced { // by the next worker, and by those that follow on it
				w.followRules()
			}
		}()
	case <-rooms.over:
	}
	return rooms.stop()
}

// followRules reads the rules of the rate limits again in a worker that retires: connections that were idle
// bring it a last request, which the rules of its successor must decide. After an error both keep their old
// ones, and the supervisor has logged it.
func (w *worker) followRules() {
	if w.cfg.LimitsFile() == "" {
		return
	}
	if rules, _, err := w.cfg.LimitRules(); err == nil {
		w.limits.Use(rules)
	}
}

// newWorker makes a worker of an opening, with the limits of one worker.
func newWorker(
	cfg *config.Config, o *opening, inherited *supervise.Worker, count *figures.Worker, access *accesslog.Log,
) (*worker, error) {
	keys, err := tokens.New(o.Sale, o.Secrets[0], o.Secrets[1:]...)
	if err != nil {
		return nil, err
	}
	encryption, err := o.Certificate.TLS()
	if err != nil {
		return nil, err
	}
	w := &worker{cfg: cfg, listener: inherited.Listener, ready: inherited.Ready, stocked: make(chan struct{}),
		accessLog: access}
	redis := o.Redis
	redis.Quiet, redis.Figures = inherited.Slot > 0, count
	if cfg.Engine == config.EngineLoop && encryption == nil {
		if w.loop, err = eventloop.New(); err != nil {
			return nil, err
		}
		redis.Loop = w.loop
	}
	w.sale = redisx.Join(redis, o.Sale, len(o.catalog.Foods()), o.catalog.Users())
	if w.repeats, err = w.newRepeats(o); err != nil {
		return nil, err
	}
	if !o.LimitsOff || cfg.LimitsFile() != "" { // a file may switch the room on
		w.limits = limits.New(limits.Config{Redis: o.Redis.Config, Rules: o.Limits, Cluster: cfg.LimitsCluster,
			Secret: o.Secrets[0], Users: o.catalog.Users(), UserOf: o.catalog.UserOf, AdminFrom: cfg.AdminFrom})
	}
	if o.Blocklist != "" {
		w.blocklist = blocklist.New(o.Blocklist)
	}
	w.traffic = w.newTraffic(o, &count.TrafficDroppedHits)
	page, err := newPage(cfg)
	if err != nil {
		return nil, err
	}
	if w.live, err = w.newLive(o.figures, count); err != nil {
		return nil, err
	}
	w.server = handlers.New(handlers.Config{
		Catalog: o.catalog, Keys: keys, Sale: w.sale, TokenTTL: cfg.TokenTTL, TLS: encryption, Loop: w.loop,
		ServiceToken: o.ServiceToken, Repeats: w.repeats, VK: o.VK, Blocklist: w.blocklist,
		Traffic: w.traffic, Limits: w.limits, CartAddsMinute: cfg.CartAdds, Figures: count,
		ConnsMax: cfg.WorkerConns(), ConnsPerAddressMax: cfg.MaxConnsPerIP, TrustedProxies: cfg.TrustedProxies,
		AccessLog: access, RequestIDs: cfg.RequestIDs, Live: w.live, Page: page,
	})
	return w, nil
}

// joinFigures has this process count in the slot's memory. The file stays open: the live view reads all of
// it.
func joinFigures(file *os.File, slot int) (*figures.Worker, error) {
	count, err := figures.Join(file, slot)
	if err == nil {
		count.Starts.Inc()
	}
	return count, err
}

// publishStock is the room that looks at the stock.
func (w *worker) publishStock(ctx context.Context) error {
	first := sync.OnceFunc(func() { close(w.stocked) })
	w.sale.Snapshots(ctx, w.cfg.SnapshotInterval, func(found redisx.Snapshot) {
		w.server.Publish(found)
		w.publishLive(&found)
		first()
	}, w.server.PublishGone)
	return nil
}

// serve is the room that answers requests. When ctx ends it drains: connections may then stay idle for
// most of the time that -drain allows, so that clients learn of the end from a reply; once stop has ended
// too, only for a moment.
func (w *worker) serve(ctx, stop context.Context) error {
	// Usually a moment. A worker that is started while Redis is away serves all the same: 503 is an answer.
	select {
	case <-w.stocked:
	case <-time.After(startWait):
		slog.Warn("Redis does not answer yet; serving without it")
	case <-ctx.Done():
		return nil
	}
	failed := make(chan error, 1)
	go func() { failed <- w.server.Serve(w.listener) }()
	if err := w.ready(); err != nil {
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
	w.traffic.EndBy(end)
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	idle, cancel := context.WithTimeout(ctx, w.cfg.Drain*3/4)
	defer cancel()
	context.AfterFunc(stop, func() { time.AfterFunc(stopGrace, cancel) })
	return w.server.Drain(ctx, idle, w.listener)
}
