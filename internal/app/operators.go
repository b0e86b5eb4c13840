package app

import (
	"context"
	"log/slog"
	"time"

	"flashsale/handlers"
	"flashsale/internal/config"
	"flashsale/internal/rooms/operators"
)

var operatorsRoom = room{
	name:   "operators",
	read:   func(cfg *config.Config) (any, error) { return readOperators(cfg.Operators) },
	again:  func(cfg *config.Config) bool { return cfg.Operators != "" },
	readAs: "operators",
	serve:  (*worker).serveOperators,
}

// operatorsWait is for a database with the list of operators.
const operatorsWait = 10 * time.Second

// operatorList is a list of operators and where it comes from. A worker knows that from here only: it may be
// a secret of the environment.
type operatorList struct {
	Source string // "" for none
	List   []operators.Operator
}

func readOperators(source string) (l operatorList, err error) {
	if source == "" {
		return l, nil
	}
	ctx, stop := context.WithTimeout(context.Background(), operatorsWait)
	defer stop()
	l.Source = source
	l.List, err = operators.Read(ctx, source)
	return l, err
}

func (w *worker) serveOperators() (part, error) {
	var found operatorList
	if err := w.take("operators", &found); err != nil || found.Source == "" {
		return part{}, err
	}
	room := operators.New(operators.Config{Redis: w.Redis.Room(operators.HashTag), List: found.List,
		Hash: w.hasher.Hash})
	run := func(ctx context.Context) error {
		defer w.hasher.Close()
		return room.Run(ctx)
	}
	// A worker that was replaced answers the last requests of its connections by the list of the new one. The
	// supervisor has logged why a list cannot be read. A database may be slow: the drain does not wait for it.
	retired := func() {
		go func() {
			if fresh, err := readOperators(found.Source); err == nil {
				room.Use(fresh.List)
			}
		}()
	}
	return part{run: run, routes: handlers.Operators(room), retired: retired}, nil
}

// warnOfNobody warns where nobody can run the sale over HTTP.
func warnOfNobody(cfg *config.Config, l operatorList) {
	if cfg.RootOff && len(l.List) == 0 {
		slog.Warn("nobody can run the sale over HTTP: -root-access is off, and there are no operators " +
			"(-operators)")
	}
}
