package blocklist

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cosnicolaou/pbzip2"

	"flashsale/internal/background"
)

const (
	bzip2Magic       = "BZh"
	bzip2HeaderBytes = 4

	logEvery = 10 * time.Second // between two lines about the progress
)

// ErrShrunk is the outcome of importing a list that is empty or has lost more than a fifth of its documents:
// most likely it was cut off or is another file.
var ErrShrunk = errors.New("the list is empty or has shrunk by more than a fifth")

var (
	errCutOff   = errors.New("the list is cut off")
	errNotBzip2 = errors.New("the list is not packed with bzip2")
)

// importing is an import under way.
type importing struct {
	cancel context.CancelFunc
	done   chan imported
}

// imported is the outcome of an import: a list that is not yet the snapshot.
type imported struct {
	*builder
	info Info
	took time.Duration
	err  error
}

// begin takes a later list of another server, then imports a later list of the source in a goroutine.
func (k *Keeper) begin(ctx context.Context) *importing {
	k.update(ctx)
	ctx, cancel := context.WithCancel(ctx)
	r := &importing{cancel, make(chan imported, 1)}
	known := k.info
	go func() {
		defer cancel()
		r.done <- k.read(ctx, known)
	}()
	return r
}

// stop gives the import up and waits until it has ended.
func (r *importing) stop() {
	if r != nil {
		r.cancel()
		<-r.done
	}
}

// finish makes an imported list the snapshot and shares it. It logs the outcome and returns the error.
func (k *Keeper) finish(ctx context.Context, list imported) error {
	err := list.err
	if err == nil {
		err = k.take(list)
	}
	if err == nil || errors.Is(err, errUnchanged) {
		k.checked.Store(time.Now().UnixMilli())
	}
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, errUnchanged):
		slog.Info("the blocklist has not changed", "source", k.source, "stored", k.info.Stored)
		return nil
	case err == nil:
		slog.Info("the blocklist is imported", "source", k.source, "rows", k.info.Rows, "malformed",
			k.info.Malformed, "stored", k.info.Stored, "took", list.took.Round(time.Millisecond))
		k.trade(ctx)
	case k.info == Info{}:
		slog.Error("there is no blocklist: checks get 503 and all logins pass", "source", k.source, "error", err)
	default:
		slog.Error("the blocklist is not refreshed; the one before stays", "source", k.source,
			"stored", k.info.Stored, "error", err)
	}
	return err
}

// take makes an imported list the snapshot. Errors: ErrShrunk.
func (k *Keeper) take(list imported) error {
	defer debug.FreeOSMemory() // the next import may be a day away
	before, info := k.info, list.info
	if shrunk := info.Stored == 0 || 5*info.Stored < 4*before.Stored; shrunk && !k.cfg.Force {
		return fmt.Errorf("%w: %d documents before, %d now; if that is right, start with -blocklist-force",
			ErrShrunk, before.Stored, info.Stored)
	}
	err := replaceSnapshot(k.cfg.Path, func(w io.Writer) error { return writeSnapshot(w, info, &list.bitmaps) })
	if err == nil {
		err = k.readFile()
	}
	if err == nil && k.info == (Info{}) {
		return fmt.Errorf("%w as soon as it is written", ErrCorrupt)
	}
	return err
}

// read reads the list of the source. If it is still the known one the error is errUnchanged.
func (k *Keeper) read(ctx context.Context, known Info) imported {
	list, err := k.source.open(ctx, known.Source)
	if err != nil {
		return imported{err: err}
	}
	defer list.Close()
	return k.load(ctx, list, known)
}

// load decodes a list. Its time is that of the source's answer: a slow import must not make it later than a
// list that was asked for after it. It is later than the known list, also after the clock was set back.
func (k *Keeper) load(ctx context.Context, list *packed, known Info) imported {
	start, b := time.Now(), &builder{}
	if err := k.decode(ctx, list, b); err != nil {
		return imported{err: err}
	}
	info := Info{Rows: b.rows, Malformed: b.malformed, Stored: b.finish(), Source: list.version,
		Imported: max(list.answered.UnixMilli(), known.Imported+1)}
	return imported{builder: b, info: info, took: time.Since(start)}
}

// decode reads the rows of a packed list, on all cores.
func (k *Keeper) decode(ctx context.Context, list *packed, b *builder) error {
	counted := &counted{Reader: list}
	in := bufio.NewReader(counted)
	// The decoder reads its header with a single Read, which may give less.
	head, err := in.Peek(bzip2HeaderBytes)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("cannot read the list: %w", err)
	case !strings.HasPrefix(bzip2Magic, string(head[:min(len(head), len(bzip2Magic))])):
		return errNotBzip2
	case err != nil:
		return errCutOff
	}
	shown, stop := context.WithCancel(ctx)
	var showing sync.WaitGroup
	start := time.Now()
	showing.Go(func() {
		background.Every(shown, logEvery, func() {
			logProgress(counted.bytes.Load(), list.bytes, int64(b.seen.Load()), time.Since(start))
		})
	})
	defer showing.Wait()
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rows := pbzip2.NewReader(ctx, in)
	err = b.read(ctx, rows)
	cancel()
	list.stop()
	_, _ = io.Copy(io.Discard, rows) // returns once the decoder's goroutines have ended: they read the list
	if err != nil && strings.Contains(err.Error(), "failed to find trailer") {
		return fmt.Errorf("%w after %d rows", errCutOff, b.rows)
	}
	return err
}

// counted counts the bytes that are read.
type counted struct {
	io.Reader
	bytes atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

// logProgress logs how far an import is. total is the length of the packed list, -1 where it is not known.
func logProgress(read, total, rows int64, took time.Duration) {
	values := []any{"rows", rows, "rows_per_second", int64(float64(rows) / took.Seconds()), "bytes", read}
	if total > 0 && read > 0 {
		left := time.Duration(float64(took) * float64(total-read) / float64(read))
		values = append(values, "percent", 100*read/total, "left", left.Round(time.Second).String())
	}
	slog.Info("the blocklist is being imported", values...)
}
