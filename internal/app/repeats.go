package app

import (
	"context"

	"flashsale/handlers"
	"flashsale/internal/config"
	"flashsale/internal/rooms/repeats"
)

const megabyte = 1 << 20

// repeatsConfig is the room of repeated messages, in the supervisor as in the workers.
func repeatsConfig(cfg *config.Config, h *handover) repeats.Config {
	return repeats.Config{Redis: h.Redis.Config, Secret: h.Secrets[0], Window: cfg.RepeatsWindow,
		BytesMax: int64(cfg.RepeatsMemory) * megabyte, RepliesMax: cfg.VKQueue}
}

// newRepeatsKeeper returns what sweeps texts and sends the bot's replies, nil where the room is off.
func (s *supervisor) newRepeatsKeeper() *repeats.Keeper {
	if !s.cfg.Repeats {
		return nil
	}
	return repeats.NewKeeper(repeatsConfig(s.cfg, &s.sale.handover),
		repeats.VK{Groups: senders(s.sale.groups), API: s.cfg.VKAPI})
}

// readVKGroups takes the groups of the bot anew: the keeper at once, the workers when they are replaced.
func (s *supervisor) readVKGroups(context.Context) error {
	groups, err := s.cfg.VKGroups()
	if err == nil {
		s.sale.takeGroups(groups)
		s.repeats.Regroup(senders(groups))
	}
	return err
}

// takeGroups keeps the groups of the bot, and for the workers what they need of them.
func (o *opening) takeGroups(groups []config.VKGroup) {
	o.groups, o.VK = groups, nil
	for _, g := range groups {
		o.VK = append(o.VK, handlers.VKGroup{ID: g.ID, Confirmation: g.Confirmation, Secret: g.Secret})
	}
}

// senders are the groups as those that send their replies need them.
func senders(groups []config.VKGroup) (list []repeats.Group) {
	for _, g := range groups {
		list = append(list, repeats.Group{ID: g.ID, Token: g.Token})
	}
	return list
}

// newRepeats returns the worker's counter, nil where the room is off.
func (w *worker) newRepeats(o *opening) (*repeats.Counter, error) {
	if !w.cfg.Repeats {
		return nil, nil
	}
	return repeats.New(repeatsConfig(w.cfg, &o.handover))
}
