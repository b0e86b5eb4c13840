package app

import (
	"flashsale/handlers"
	"flashsale/internal/rooms/sessions"
	"time"
)

var sessionsRoom = room{name: "sessions", serve: (*worker).serveSessions}

func (w *worker) serveSessions() (part, error) {
	w.sessions = sessions.New(sessionsConfig(&w.handover, w.cfg.TokenTTL))
	return part{run: w.sessions.Run, routes: handlers.Sessions(w.sessions)}, nil
}

// sessionsConfig is the same in every process that checks tokens.
func sessionsConfig(h *handover, tokenTTL time.Duration) sessions.Config {
	return sessions.Config{Redis: h.Redis.Room(sessions.HashTag), TokenTTL: tokenTTL}
}

// ofUser is an act on sessions for a room that knows users only.
func ofUser(act func(sessions.Holder) error) func(user uint32) error {
	return func(user uint32) error { return act(sessions.User(user)) }
}
