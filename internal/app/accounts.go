package app

import (
	"context"
	"sync"

	"flashsale/handlers"
	"flashsale/internal/rooms/accounts"
)

var accountsRoom = room{name: "accounts", serve: (*worker).serveAccounts}

func (w *worker) serveAccounts() (part, error) {
	if !w.cfg.Chat {
		return part{}, nil
	}
	names := sync.OnceValue(w.catalog.Names)
	hasher := accounts.NewHasher(startHashing)
	w.accounts = accounts.New(accounts.Config{
		Redis: w.Redis.Spread(), UsersMax: w.cfg.AccountsMax, TokenTTL: w.cfg.TokenTTL, Hash: hasher.Hash,
		UserOf: w.catalog.UserOf, EachName: w.catalog.EachName,
		NameOf: func(user uint32) []byte { return names().Name(user) },
	})
	run := func(ctx context.Context) error {
		defer hasher.Close()
		return w.accounts.Run(ctx)
	}
	return part{run: run, routes: handlers.Accounts(w.accounts)}, nil
}
