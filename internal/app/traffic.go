package app

import (
	"flashsale/internal/config"
	"flashsale/internal/observe/figures"
	"flashsale/internal/rooms/traffic"
)

// trafficConfig is the room of the statistics, in the supervisor as in the workers.
func trafficConfig(cfg *config.Config, h *handover) traffic.Config {
	return traffic.Config{Redis: h.Redis.Config, Sale: h.Sale, Tiers: cfg.TrafficTiers, Zone: cfg.TrafficZone,
		KeysMax: cfg.TrafficKeys}
}

// newTrafficKeeper returns what adds up old statistics, nil where the room is off.
func (s *supervisor) newTrafficKeeper() *traffic.Keeper {
	if !s.cfg.Traffic() {
		return nil
	}
	return traffic.NewKeeper(trafficConfig(s.cfg, &s.sale.handover))
}

// newTraffic returns the worker's statistics, nil where the room is off.
func (w *worker) newTraffic(o *opening, dropped *figures.Counter) *traffic.Traffic {
	if !w.cfg.Traffic() {
		return nil
	}
	cfg := trafficConfig(w.cfg, &o.handover)
	cfg.Dropped = dropped
	return traffic.New(cfg)
}
