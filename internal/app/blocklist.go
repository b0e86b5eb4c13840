package app

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"flashsale/handlers"
	"flashsale/internal/observe/figures"
	"flashsale/internal/observe/ops"
	"flashsale/internal/rooms/blocklist"
)

// blocklistName is the name of the snapshot in the data folder.
const blocklistName = "blocklist"

var blocklistRoom = room{
	name:  "blocklist",
	keep:  (*supervisor).keepBlocklist,
	serve: (*worker).serveBlocklist,
}

// keepBlocklist imports the list of invalid passports. SIGHUP starts an import in the background, because an
// import is slow.
func (s *supervisor) keepBlocklist(context.Context) (part, error) {
	if s.cfg.Blocklist == "" {
		return part{}, nil
	}
	cfg := blocklist.Config{Source: s.cfg.Blocklist, Refresh: s.cfg.BlocklistRefresh,
		Force: s.cfg.BlocklistForce, Path: s.folder.File(blocklistName), Terminal: os.Stderr}
	if !s.store.private {
		redis := s.store.redis.Room(blocklist.HashTag)
		cfg.Redis = &redis
	}
	keeper, err := blocklist.NewKeeper(cfg)
	if err != nil {
		return part{}, err
	}
	p := part{run: keeper.Run, reloaded: func(*opening) { keeper.Reload() }}
	if s.opsListener != nil {
		served := blocklist.New(cfg.Path) // as the workers see it
		p.run = func(ctx context.Context) error {
			both, ctx := errgroup.WithContext(ctx)
			both.Go(func() error { return keeper.Run(ctx) })
			both.Go(func() error { return served.Run(ctx) })
			return both.Wait()
		}
		p.figures = func(scrape *ops.Scrape) {
			scrape.Set(figures.BlocklistRefresh, cfg.Refresh.Seconds())
			showBlocklist(scrape, keeper, served.List())
		}
	}
	return p, nil
}

// showBlocklist shows the size and the age of the list that the workers serve. The age begins when the list
// was imported, and again each time the source still has the same list.
func showBlocklist(scrape *ops.Scrape, keeper *blocklist.Keeper, list *blocklist.List) {
	if list == nil {
		scrape.Set(figures.Documents, 0)
		return
	}
	scrape.Set(figures.Documents, float64(list.Info().Stored))
	checked := time.UnixMilli(list.Info().Imported)
	if later := keeper.Checked(); later.After(checked) {
		checked = later
	}
	scrape.SetAge(figures.BlocklistAge, checked)
}

func (w *worker) serveBlocklist() (part, error) {
	if w.cfg.Blocklist == "" {
		return part{}, nil
	}
	list := blocklist.New(filepath.Join(w.cfg.DataDir, blocklistName))
	return part{run: list.Run, routes: handlers.Blocklist(list)}, nil
}
