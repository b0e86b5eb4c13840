package app

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"slices"
	"time"

	"flashsale/handlers"
	"flashsale/internal/observe/figures"
	"flashsale/internal/rooms/live"
	"flashsale/internal/rooms/traffic"
	"flashsale/redisx"
)

var liveRoom = room{name: "live", keep: (*supervisor).keepLive, serve: (*worker).serveLive}

// keepLive brings the figures of all servers together.
func (s *supervisor) keepLive(ctx context.Context) (part, error) {
	if s.cfg.LiveViewers == 0 {
		return part{}, nil
	}
	sale := s.serving().Sale
	keeper := live.NewKeeper(live.KeeperConfig{Redis: s.store.redis.Room(live.HashTag), Figures: s.figures,
		Sale: sale, Server: rand.Text()})
	log, err := readLog(ctx, s.store.redis, sale)
	keeper.Note(sale, marksOf(log))
	if err = errors.Join(err, keeper.Prepare(ctx)); err != nil {
		slog.Warn("the live view does not know yet what was before", "error", err)
	}
	return part{run: keeper.Run,
		changed:  func(sale string, log []redisx.LogEntry) { keeper.Note(sale, marksOf(log)) },
		followed: func(o *opening) { keeper.Follow(o.Sale) }}, nil
}

// readLog reads the log of a sale.
func readLog(ctx context.Context, redis redisx.Config, id string) (log []redisx.LogEntry, err error) {
	sale, leave, err := redisx.Connect(ctx, redis, id, 0)
	if err != nil {
		return nil, err
	}
	defer leave()
	for scan := sale.ScanLog(); err == nil; {
		var page []redisx.LogEntry
		page, err = scan.Next(ctx)
		log = append(log, page...)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return log, err
}

// marksOf returns what viewers see of a log.
func marksOf(log []redisx.LogEntry) (marks []live.Mark) {
	for _, e := range log {
		m := live.Mark{At: e.At}
		switch {
		case e.What == redisx.LogOpened && !e.TimesAfter.OpensAt.After(e.At): // it is open from its beginning
			m.What = live.Opened
		case e.What == redisx.LogStock:
			m.What, m.Food, m.Add = live.Restocked, e.Food, e.Add
		case e.What == redisx.LogSoldOut:
			m.What = live.SoldOut
		case e.What != redisx.LogState:
		case e.StateAfter == redisx.StatePaused:
			m.What = live.Paused
		case e.StateAfter == redisx.StateClosed:
			m.What = live.Closed
		case e.StateAfter == redisx.StateOpen && e.StateBefore == redisx.StatePaused:
			m.What = live.Resumed
		case e.StateAfter == redisx.StateOpen:
			m.What = live.Opened
		}
		if m.What != "" {
			marks = append(marks, m)
		}
	}
	return marks
}

// serveLive serves GET /live.
func (w *worker) serveLive() (part, error) {
	if w.cfg.LiveViewers == 0 {
		return part{}, nil
	}
	all, err := figures.View(w.figures)
	if err != nil {
		return part{}, err
	}
	cfg := live.Config{Board: all.Board(), SaleID: w.Sale, Own: w.count, ViewersMax: w.cfg.WorkerViewers(),
		Look: w.lookAtRedis, Sale: w.server.SaleBody}
	if w.traffic != nil {
		cfg.Top = w.topTraffic
	}
	hub, err := live.New(cfg)
	if err != nil {
		return part{}, err
	}
	w.count.SaleOrders.Set(live.Unknown)
	w.count.Sale.Set(figures.SaleNumber(w.Sale))
	var shown []int64
	publish := func(found *redisx.Snapshot) {
		if pieces := w.server.Pieces(found); !slices.Equal(pieces, shown) {
			shown = pieces
			hub.PublishOf(pieces)
		}
		hub.PublishStock(found.Left)
		w.count.SaleOrders.Set(found.Orders)
	}
	return part{run: hub.Run, routes: handlers.Live(hub), stock: publish,
		stop: func(time.Time) { hub.End() }}, nil
}

// lookAtRedis returns the state of Redis for the viewers.
func (w *worker) lookAtRedis() live.State {
	backlog, err := w.sale.Ready()
	return live.State{Up: err == nil, Ledger: backlog.Kept, LedgerLag: backlog.Orders}
}

// topTraffic returns the most-hit keys as JSON, nil if they are not known.
func (w *worker) topTraffic() []byte {
	last, invalid := traffic.ParseSpan(handlers.TopLast)
	top, err := w.traffic.Top(last, handlers.TopKeys)
	if err = errors.Join(invalid, err); err != nil {
		slog.Debug("the most-hit keys are not known", "error", err) // the Redis client logs that Redis is away
		return nil
	}
	keys, err := json.Marshal(top.Keys)
	if err != nil {
		slog.Error("cannot show the most-hit keys", "error", err)
		return nil
	}
	return keys
}
