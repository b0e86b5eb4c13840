package app

import (
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"flashsale/handlers"
	"flashsale/internal/observe/figures"
	"flashsale/internal/rooms/live"
	"flashsale/internal/rooms/traffic"
	"flashsale/redisx"
)

var liveRoom = room{name: "live", serve: (*worker).serveLive}

// serveLive serves GET /live.
func (w *worker) serveLive() (part, error) {
	if w.cfg.LiveViewers == 0 {
		return part{}, nil
	}
	all, err := figures.View(w.figures)
	if err != nil {
		return part{}, err
	}
	cfg := live.Config{Figures: all, Own: w.count, ViewersMax: w.cfg.WorkerViewers(), Look: w.lookAtRedis,
		Sale: w.server.SaleBody}
	if w.traffic != nil {
		cfg.Top = w.topTraffic
	}
	hub, err := live.New(cfg)
	if err != nil {
		return part{}, err
	}
	var shown []int64
	publish := func(found *redisx.Snapshot) {
		if pieces := w.server.Pieces(found); !slices.Equal(pieces, shown) {
			shown = pieces
			hub.PublishOf(pieces)
		}
		hub.PublishStock(found.Left)
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
