package blocklist

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/cosnicolaou/pbzip2"

	"flashsale/redisx/pipeline"
)

const (
	shareEvery = 10 * time.Second // between two looks at the snapshot in Redis
	retryMin   = 10 * time.Second // the first pause after a failed refresh
	retryMax   = 30 * time.Minute // the longest pause
)

// ErrShrunk is the outcome of importing a list that is empty or has lost more than a fifth of its documents:
// most likely it was cut off or is another file.
var ErrShrunk = errors.New("the list is empty or has shrunk by more than a fifth")

// Config is what a Keeper needs.
type Config struct {
	Source   string           // URL or file of the list
	Refresh  time.Duration    // between two looks at the source
	Force    bool             // take a list that has shrunk, too
	Path     string           // of the snapshot file
	Redis    *pipeline.Config // shares the snapshot with other servers; nil where there can be none
	Terminal *os.File         // shows a progress bar if it is one; may be nil
}

// Keeper keeps the snapshot file of one server up to date. The supervisor runs it.
type Keeper struct {
	cfg    Config
	source source
	share  *share // nil without Redis
	info   Info   // of the snapshot file, the zero value for none
	asked  chan struct{}

	// The constants, except in tests.
	shareEvery, retryMin, retryMax time.Duration
}

// NewKeeper makes a Keeper. A snapshot file that is there is checked; a corrupt one will be made anew.
func NewKeeper(cfg Config) (*Keeper, error) {
	source, err := newSource(cfg.Source)
	if err != nil {
		return nil, err
	}
	k := &Keeper{cfg: cfg, source: source, asked: make(chan struct{}, 1),
		shareEvery: shareEvery, retryMin: retryMin, retryMax: retryMax}
	if cfg.Redis != nil {
		k.share = &share{cfg: *cfg.Redis, pause: piecePause}
	}
	list, err := Open(cfg.Path)
	switch {
	case err == nil:
		k.info = list.Info()
	case errors.Is(err, os.ErrNotExist):
	case errors.Is(err, ErrCorrupt):
		slog.Error("the snapshot of the blocklist is made anew", "error", err)
	default:
		return nil, err
	}
	return k, nil
}

// Reload looks at the source soon. It does not wait for the outcome, which is logged.
func (k *Keeper) Reload() {
	select {
	case k.asked <- struct{}{}:
	default: // it will look anyway
	}
}

// Run keeps the snapshot until ctx ends, and returns nil. It logs faults and tries again.
func (k *Keeper) Run(ctx context.Context) error {
	look := time.NewTicker(k.shareEvery)
	defer look.Stop()
	k.exchange(ctx)
	due := time.NewTimer(0)
	for retry := k.retryMin; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
			k.exchange(ctx)
			continue
		case <-due.C:
		case <-k.asked:
		}
		err := k.refresh(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil || errors.Is(err, ErrShrunk):
			due.Reset(k.cfg.Refresh)
			retry = k.retryMin
		default:
			due.Reset(min(retry, k.cfg.Refresh))
			retry = min(2*retry, k.retryMax)
		}
		if err != nil {
			slog.Error("the blocklist is not refreshed; the one before stays", "source", k.source,
				"stored", k.info.Stored, "error", err)
		}
	}
}

// exchange takes a later snapshot from Redis, or puts this one there. A fault is logged: it is tried again.
func (k *Keeper) exchange(ctx context.Context) {
	if k.share == nil {
		return
	}
	if err := k.exchangeWith(ctx); err != nil && ctx.Err() == nil {
		slog.Warn("the blocklist is not exchanged with other servers", "error", err)
	}
}

func (k *Keeper) exchangeWith(ctx context.Context) error {
	l, err := pipeline.Dial(ctx, k.share.cfg)
	if err != nil {
		return err
	}
	defer l.Close()
	there, err := k.share.newest(l)
	switch {
	case err != nil || there.Imported == k.info.Imported:
		return err
	case there.Imported < k.info.Imported:
		return k.share.publish(ctx, l, there, k.cfg.Path, k.info)
	}
	err = replaceSnapshot(k.cfg.Path, func(w io.Writer) error { return k.share.fetch(ctx, l, there, w) })
	if err != nil {
		return err
	}
	if err := k.read(); err != nil {
		return err
	}
	slog.Info("the blocklist of another server is taken", "stored", k.info.Stored)
	return nil
}

// read takes the Info of the snapshot file.
func (k *Keeper) read() error {
	list, err := Open(k.cfg.Path)
	if err == nil {
		k.info = list.Info()
	}
	return err
}

// refresh imports the list if its source has changed.
func (k *Keeper) refresh(ctx context.Context) error {
	k.exchange(ctx) // another server may have imported it
	list, err := k.source.open(ctx, k.info.Source)
	if errors.Is(err, errUnchanged) {
		slog.Info("the blocklist has not changed", "source", k.source, "stored", k.info.Stored)
		return nil
	}
	if err != nil {
		return err
	}
	defer list.Close()
	start := time.Now()
	if err := k.load(ctx, list); err != nil {
		return err
	}
	slog.Info("the blocklist is imported", "source", k.source, "rows", k.info.Rows,
		"malformed", k.info.Malformed, "stored", k.info.Stored, "took", time.Since(start).Round(time.Millisecond))
	k.exchange(ctx)
	return nil
}

// load decodes a list and makes it the snapshot. Errors: ErrShrunk.
func (k *Keeper) load(ctx context.Context, list *packed) error {
	defer debug.FreeOSMemory() // the next import is a day away
	b := &builder{}
	if err := k.decode(ctx, list, b); err != nil {
		return err
	}
	before := k.info
	info := Info{Rows: b.rows, Malformed: b.malformed, Stored: b.finish(), Source: list.version,
		// A clock that was set back must not make this list an older one.
		Imported: max(time.Now().UnixMilli(), before.Imported+1)}
	if shrunk := info.Stored == 0 || 5*info.Stored < 4*before.Stored; shrunk && !k.cfg.Force {
		return fmt.Errorf("%w: %d documents before, %d now; if that is right, start with -blocklist-force",
			ErrShrunk, before.Stored, info.Stored)
	}
	err := replaceSnapshot(k.cfg.Path, func(w io.Writer) error { return writeSnapshot(w, info, &b.bitmaps) })
	if err == nil {
		k.info = info
	}
	return err
}

// decode reads the rows of a packed list, on all cores.
func (k *Keeper) decode(ctx context.Context, list *packed, b *builder) error {
	in := &counted{Reader: list}
	shown, stop := context.WithCancel(ctx)
	var showing sync.WaitGroup
	showing.Go(func() {
		progress(shown, k.cfg.Terminal, list.bytes, in.bytes.Load,
			func() int64 { return int64(b.seen.Load()) })
	})
	defer showing.Wait()
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rows := pbzip2.NewReader(ctx, in)
	err := b.read(ctx, rows)
	cancel()
	list.stop()
	_, _ = io.Copy(io.Discard, rows) // returns once the decoder's goroutines have ended: they read the list
	return err
}
