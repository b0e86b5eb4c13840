package blocklist

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"flashsale/internal/background"
	"flashsale/redisx/pipeline"
)

const (
	lookFileEvery = 10 * time.Second // between two checks of the snapshots in the folder and in Redis
	retryMin      = 10 * time.Second // the first pause after a failed refresh
	retryMax      = 30 * time.Minute // the longest pause
)

// Config is what a Keeper needs.
type Config struct {
	Source  string           // URL or file of the list
	Refresh time.Duration    // between two checks of the source
	Force   bool             // take a list that has shrunk, too
	Path    string           // of the snapshot file
	Redis   *pipeline.Config // shares the snapshot with other servers; nil for a single server
}

// Keeper keeps the snapshot file of one server up to date. The supervisor runs it.
//
// A list comes from one of three places: the snapshot file, Redis, the source. Of two lists the one with the
// later Info.Imported counts, wherever it comes from; a list that cannot be read does not count. What the
// Keeper knows of the file is in info. Only Run's goroutine changes info and writes the file: an import runs
// in another goroutine and hands over the decoded list. If another list has come meanwhile, or the file was
// lost, the import is given up and the source is asked again.
type Keeper struct {
	cfg     Config
	source  source
	share   *share       // nil without Redis
	info    Info         // of the snapshot file, the zero value if there is no whole one
	file    os.FileInfo  // the file that info was read from, nil if there is no file
	refused string       // generation of the snapshot in Redis that this program cannot read
	checked atomic.Int64 // when the source last gave its list or still had this one, Unix ms; 0 for never
	asked   chan struct{}

	// The constants, except in tests.
	lookEvery, retryMin, retryMax time.Duration
}

// NewKeeper makes a Keeper. A snapshot file that is there is checked; a corrupt one will be made anew.
func NewKeeper(cfg Config) (*Keeper, error) {
	source, err := newSource(cfg.Source)
	if err != nil {
		return nil, err
	}
	k := &Keeper{cfg: cfg, source: source, asked: make(chan struct{}, 1),
		lookEvery: lookFileEvery, retryMin: retryMin, retryMax: retryMax}
	if cfg.Redis != nil {
		k.share = &share{cfg: *cfg.Redis, pause: piecePause}
	}
	return k, k.readFile()
}

// Reload makes Run check the source soon, after any import under way. It does not wait for the outcome,
// which is logged.
func (k *Keeper) Reload() {
	select {
	case k.asked <- struct{}{}:
	default: // Run will check anyway
	}
}

// Checked is when this process last got a list from the source, or found the known list there: the zero time
// for never.
func (k *Keeper) Checked() time.Time {
	if at := k.checked.Load(); at > 0 {
		return time.UnixMilli(at)
	}
	return time.Time{}
}

// Run keeps the snapshot until ctx ends, and returns nil. It logs faults and tries again.
func (k *Keeper) Run(ctx context.Context) error {
	look, due := time.NewTicker(k.lookEvery), time.NewTimer(0)
	defer look.Stop()
	defer due.Stop()
	failures := 0
	for running := (*importing)(nil); ; {
		asked, done := k.asked, (chan imported)(nil)
		if running != nil {
			asked, done = nil, running.done
		}
		select {
		case <-ctx.Done():
			running.stop()
			return nil
		case <-look.C:
			if k.update(ctx) && (running != nil || k.info == Info{}) {
				running.stop()
				running = nil
				due.Reset(0)
			}
		case <-asked:
			k.file = nil // read it even if its time and size are the same
			due.Reset(0)
		case <-due.C: // it is not set while an import is running
			running = k.begin(ctx)
		case list := <-done:
			running = nil
			err := k.finish(ctx, list)
			if err == nil || errors.Is(err, ErrShrunk) {
				failures = 0
				due.Reset(k.cfg.Refresh)
			} else {
				failures++
				due.Reset(min(background.Delay(failures, k.retryMin, k.retryMax), k.cfg.Refresh))
			}
		}
	}
}

// update reads the file and asks Redis. It reports whether the file has another list now, or has lost its
// list. It logs faults, and is called again later.
func (k *Keeper) update(ctx context.Context) (changed bool) {
	before := k.info
	if err := k.readFile(); err != nil {
		slog.Error("the snapshot of the blocklist cannot be checked", "error", err)
	}
	k.trade(ctx)
	return k.info != before
}

// trade exchanges the list with other servers. A fault is logged: it is tried again.
func (k *Keeper) trade(ctx context.Context) {
	if k.share == nil {
		return
	}
	if err := k.exchange(ctx); err != nil && ctx.Err() == nil {
		slog.Warn("the blocklist is not exchanged with other servers", "error", err)
	}
}

// readFile reads the snapshot file if it has changed since it was last read.
func (k *Keeper) readFile() error {
	file, err := os.Stat(k.cfg.Path)
	if err == nil && sameFile(file, k.file) {
		return nil
	}
	var list *List
	if err == nil {
		list, err = Open(k.cfg.Path)
	}
	switch {
	case err == nil:
		k.info = list.Info()
	case errors.Is(err, os.ErrNotExist):
		k.info = Info{}
	case errors.Is(err, ErrCorrupt):
		slog.Error("the snapshot of the blocklist is made anew", "error", err)
		k.info = Info{}
	default:
		return err
	}
	k.file = file
	return nil
}

// exchange takes a later snapshot from Redis, or puts this one there.
func (k *Keeper) exchange(ctx context.Context) error {
	l, err := pipeline.Dial(ctx, k.share.cfg)
	if err != nil {
		return err
	}
	defer l.Close()
	there, err := k.share.newest(l)
	switch {
	case err != nil:
		return err
	case there.Imported > k.info.Imported:
		return k.takeShared(ctx, l, there)
	case there.Imported == k.info.Imported:
		whole, err := k.share.whole(l, there)
		if whole || err != nil {
			return err
		}
		slog.Warn("Redis has lost a piece of the blocklist; this server writes all pieces again")
		if err := k.share.withdraw(l, there); err != nil {
			return err
		}
	}
	return k.share.publish(ctx, l, k.cfg.Path, k.info)
}

// takeShared makes the snapshot in Redis that of this server. A snapshot that is not whole is withdrawn: a
// server that has a whole one publishes it, and if no server has one the list is imported.
func (k *Keeper) takeShared(ctx context.Context, l *pipeline.Link, there newest) error {
	if there.Generation == k.refused {
		return nil
	}
	err := replaceSnapshot(k.cfg.Path, func(w io.Writer) error { return k.share.fetch(ctx, l, there, w) })
	switch {
	case errors.Is(err, errNotWhole):
		return errors.Join(err, k.share.withdraw(l, there))
	case errors.Is(err, ErrCorrupt): // it was published so, by another version of the program
		k.refused = there.Generation
	}
	if err != nil {
		return err
	}
	if err := k.readFile(); err != nil {
		return err
	}
	slog.Info("the blocklist of another server is taken", "stored", k.info.Stored)
	return nil
}
