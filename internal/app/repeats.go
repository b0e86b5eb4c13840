package app

import (
	"flashsale/internal/config"
	"flashsale/internal/repeats"
)

// repeatsConfig is the room of repeated messages, in the supervisor as in the workers.
func repeatsConfig(cfg *config.Config, h *handover) repeats.Config {
	return repeats.Config{Redis: h.Redis.Config, Secret: h.Secrets[0], Window: cfg.RepeatsWindow,
		RepliesMax: cfg.VKQueue}
}

// newRepeatsKeeper returns what sweeps texts and sends the bot's replies, nil where the room is off.
func (s *supervisor) newRepeatsKeeper() *repeats.Keeper {
	if !s.cfg.Repeats {
		return nil
	}
	return repeats.NewKeeper(repeatsConfig(s.cfg, &s.sale.handover),
		repeats.VK{Token: s.cfg.VKToken, API: s.cfg.VKAPI})
}

// newRepeats returns the worker's counter, nil where the room is off.
func (w *worker) newRepeats(o *opening) (*repeats.Counter, error) {
	if !w.cfg.Repeats {
		return nil, nil
	}
	return repeats.New(repeatsConfig(w.cfg, &o.handover))
}
