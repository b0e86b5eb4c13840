package app

import (
	"context"
	"strconv"

	"flashsale/handlers"
	"flashsale/internal/config"
	"flashsale/internal/observe/figures"
	"flashsale/internal/observe/ops"
	"flashsale/internal/rooms/repeats"
)

const megabyte = 1 << 20

var repeatsRoom = room{
	name:   "repeats",
	read:   func(cfg *config.Config) (any, error) { return cfg.VKGroups() },
	again:  func(cfg *config.Config) bool { return cfg.VKGroupsFile() != "" },
	readAs: "vk_groups",
	keep:   (*supervisor).keepRepeats,
	serve:  (*worker).serveRepeats,
}

// repeatsConfig is the same in the supervisor and in the workers.
func repeatsConfig(cfg *config.Config, h *handover) repeats.Config {
	return repeats.Config{Redis: h.Redis.Room(repeats.HashTag), Secret: h.Secrets[0], Window: cfg.RepeatsWindow,
		BytesMax: int64(cfg.RepeatsMemory) * megabyte, RepliesMax: cfg.VKQueue}
}

// keepRepeats sweeps texts and sends the bot's replies.
func (s *supervisor) keepRepeats(context.Context) (part, error) {
	if !s.cfg.Repeats {
		return part{}, nil
	}
	o := s.serving()
	bot := repeats.VK{Groups: senders(o), API: s.cfg.VKAPI}
	keeper := repeats.NewKeeper(repeatsConfig(s.cfg, &o.handover), bot)
	p := part{run: keeper.Run}
	if s.cfg.VKGroupsFile() != "" {
		p.reloaded = func(o *opening) { keeper.Regroup(senders(o)) }
	}
	if s.cfg.HasBot() {
		p.figures = func(scrape *ops.Scrape) { showBot(scrape, keeper) }
	}
	return p, nil
}

func showBot(scrape *ops.Scrape, keeper *repeats.Keeper) {
	scrape.SetFlag(figures.VKUp, keeper.Up())
	for group, refused := range keeper.Refused() {
		scrape.SetFlag(figures.VKTokenRefused, refused, strconv.FormatInt(group, 10))
	}
	if !scrape.RedisUp() {
		return
	}
	if n, err := keeper.Waiting(); err == nil {
		scrape.Set(figures.VKWaiting, float64(n))
	}
}

// senders returns the bot's groups with their tokens.
func senders(o *opening) (list []repeats.Group) {
	for _, g := range o.rooms["repeats"].([]config.VKGroup) {
		list = append(list, repeats.Group{ID: g.ID, Token: g.Token})
	}
	return list
}

func (w *worker) serveRepeats() (part, error) {
	if !w.cfg.Repeats {
		return part{}, nil
	}
	counter, err := repeats.New(repeatsConfig(w.cfg, &w.handover))
	if err != nil {
		return part{}, err
	}
	w.repeats = counter
	var groups []handlers.VKGroup
	if err := w.take("repeats", &groups); err != nil {
		return part{}, err
	}
	return part{run: counter.Run, routes: handlers.Repeats(counter, groups)}, nil
}
