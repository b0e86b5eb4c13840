package app

import (
	"context"
	"sync"

	"flashsale/handlers"
	"flashsale/internal/config"
	"flashsale/internal/rooms/accounts"
	"flashsale/internal/rooms/sessions"
)

var accountsRoom = room{name: "accounts", serve: (*worker).serveAccounts}

// accountsConfig is the same in every process that knows the users.
func accountsConfig(cfg *config.Config, o *opening, ended *sessions.Sessions) accounts.Config {
	names := sync.OnceValue(o.catalog.Names)
	return accounts.Config{Redis: o.Redis.Spread(), UsersMax: cfg.AccountsMax,
		EndSessions: ofUser(ended.EndAll), NoteEnd: ofUser(ended.NoteAll),
		UserOf: o.catalog.UserOf, EachName: o.catalog.EachName,
		NameOf: func(user uint32) []byte { return names().Name(user) }}
}

func (w *worker) serveAccounts() (part, error) {
	if !w.cfg.Chat {
		return part{}, nil
	}
	cfg := accountsConfig(w.cfg, w.opening, w.sessions)
	cfg.Hash = w.hasher.Hash
	w.accounts = accounts.New(cfg)
	run := func(ctx context.Context) error {
		defer w.hasher.Close()
		return w.accounts.Run(ctx)
	}
	return part{run: run, routes: handlers.Accounts(w.accounts)}, nil
}
