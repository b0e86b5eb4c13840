package app

import (
	"flashsale/handlers"
	"flashsale/internal/observe/figures"
	"flashsale/internal/rooms/accounts"
	"flashsale/internal/rooms/presence"
)

var presenceRoom = room{name: "presence", serve: (*worker).servePresence}

// presenceConfig is the same in every process that takes heartbeats. It has the status of a user's contacts
// but of those who have blocked the user.
func presenceConfig(h *handover, count *figures.Worker, known *accounts.Accounts) presence.Config {
	contacts := func(user uint32) (visible []uint32, err error) {
		list, err := known.Contacts(user)
		for _, c := range list {
			if !c.BlockedBy {
				visible = append(visible, c.User)
			}
		}
		return visible, err
	}
	return presence.Config{Redis: h.Redis.Spread(), Contacts: contacts, Heartbeats: &count.Heartbeats,
		Lookups: &count.PresenceLookups}
}

func (w *worker) servePresence() (part, error) {
	if !w.cfg.Chat {
		return part{}, nil
	}
	room := presence.New(presenceConfig(&w.handover, w.count, w.accounts))
	return part{run: room.Run, routes: handlers.Presence(room)}, nil
}
