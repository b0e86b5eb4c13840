package app

import (
	"flashsale/handlers"
	"flashsale/internal/observe/figures"
	"flashsale/internal/rooms/presence"
)

var presenceRoom = room{name: "presence", serve: (*worker).servePresence}

// presenceConfig is the same in every process that takes heartbeats.
func presenceConfig(h *handover, count *figures.Worker) presence.Config {
	return presence.Config{Redis: h.Redis.Spread(), Heartbeats: &count.Heartbeats,
		Lookups: &count.PresenceLookups}
}

func (w *worker) servePresence() (part, error) {
	if !w.cfg.Chat {
		return part{}, nil
	}
	room := presence.New(presenceConfig(&w.handover, w.count))
	return part{run: room.Run, routes: handlers.Presence(room)}, nil
}
