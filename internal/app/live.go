package app

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"slices"

	"flashsale/internal/observe/figures"
	"flashsale/internal/rooms/live"
	"flashsale/internal/rooms/traffic"
	"flashsale/redisx"
)

const (
	topLast = "1h" // of the most-hit keys that root sees
	topKeys = 10
)

// newLive returns what tells viewers of the sale, nil where the room is off.
func (w *worker) newLive(memory *os.File, count *figures.Worker) (*live.Hub, error) {
	if w.cfg.LiveViewers == 0 {
		return nil, nil
	}
	all, err := figures.View(memory)
	if err != nil {
		return nil, err
	}
	cfg := live.Config{Figures: all, Own: count, ViewersMax: w.cfg.WorkerViewers(), Look: w.lookAtRedis,
		Sale: func() []byte { return w.server.SaleBody() }} // the server is made later
	if w.traffic != nil {
		cfg.Top = w.topTraffic
	}
	return live.New(cfg)
}

// publishLive has the viewers see a snapshot. One goroutine calls it.
func (w *worker) publishLive(found *redisx.Snapshot) {
	if w.live == nil {
		return
	}
	if pieces := w.server.Pieces(found); !slices.Equal(pieces, w.shownPieces) {
		w.shownPieces = pieces
		w.live.PublishOf(pieces)
	}
	w.live.PublishStock(found.Left)
}

// lookAtRedis is what the viewers see of Redis.
func (w *worker) lookAtRedis() live.State {
	backlog, err := w.sale.Ready()
	return live.State{Up: err == nil, Ledger: backlog.Kept, LedgerLag: backlog.Orders}
}

// topTraffic is the most-hit keys as JSON, nil where they are not known.
func (w *worker) topTraffic() []byte {
	last, invalid := traffic.ParseSpan(topLast)
	top, err := w.traffic.Top(last, topKeys)
	if err = errors.Join(invalid, err); err != nil {
		slog.Debug("the most-hit keys are not known", "error", err) // a Redis that is away is logged elsewhere
		return nil
	}
	keys, err := json.Marshal(top.Keys)
	if err != nil {
		slog.Error("cannot show the most-hit keys", "error", err)
		return nil
	}
	return keys
}
