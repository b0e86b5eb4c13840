package app

import (
	"context"

	"flashsale/handlers"
	"flashsale/internal/config"
	"flashsale/internal/observe/figures"
	"flashsale/internal/observe/ops"
	"flashsale/internal/rooms/traffic"
)

var trafficRoom = room{name: "traffic", keep: (*supervisor).keepTraffic, serve: (*worker).serveTraffic}

// trafficConfig is the same in the supervisor and in the workers.
func trafficConfig(cfg *config.Config, h *handover) traffic.Config {
	return traffic.Config{Redis: h.Redis.Room(traffic.HashTag), Sale: h.Sale, Tiers: cfg.TrafficTiers,
		Zone: cfg.TrafficZone, KeysMax: cfg.TrafficKeys}
}

// keepTraffic adds up old statistics.
func (s *supervisor) keepTraffic(context.Context) (part, error) {
	if !s.cfg.Traffic() {
		return part{}, nil
	}
	keeper := traffic.NewKeeper(trafficConfig(s.cfg, &s.serving().handover))
	return part{run: keeper.Run, figures: func(scrape *ops.Scrape) { showTraffic(scrape, keeper) }}, nil
}

func showTraffic(scrape *ops.Scrape, keeper *traffic.Keeper) {
	if !scrape.RedisUp() {
		return
	}
	if n, most, err := keeper.Keys(); err == nil {
		scrape.Set(figures.TrafficKeys, float64(n))
		scrape.Set(figures.TrafficKeysMax, float64(most))
	}
}

func (w *worker) serveTraffic() (part, error) {
	if !w.cfg.Traffic() {
		return part{}, nil
	}
	cfg := trafficConfig(w.cfg, &w.handover)
	cfg.Dropped = &w.count.TrafficDroppedHits
	w.traffic = traffic.New(cfg)
	return part{run: w.traffic.Run, routes: handlers.Traffic(w.traffic), stop: w.traffic.EndBy}, nil
}
