// Package blocklist answers whether a passport is on the published list of invalid documents.
//
// The supervisor's Keeper imports the list (about 130 million rows of bzip2 CSV), decoding it as a stream on
// all cores, and writes one snapshot file of roaring bitmaps. The workers map that file and share its
// memory; each has bitmaps of its own that refer to it. They answer without a lock, an allocation or a call
// of Redis. Every lookEvery they check for a new snapshot. Other servers get the snapshot from Redis.
//
// It must never write the unpacked list to disk. It is slow while the Keeper imports: decoding bzip2 takes
// all cores.
package blocklist

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/logpace"
)

// lookEvery is the time between two checks of the snapshot file.
const lookEvery = 250 * time.Millisecond

// Blocklist is a worker's view of the newest list.
type Blocklist struct {
	path   string
	list   atomic.Pointer[List] // nil until a snapshot was opened
	seen   os.FileInfo          // of the file that was opened last, nil before
	faults logpace.Pace
}

// New opens the snapshot file, which need not be there yet.
func New(path string) *Blocklist {
	b := &Blocklist{path: path}
	b.remap()
	return b
}

// List returns the newest list, nil until the first one is there.
func (b *Blocklist) List() *List { return b.list.Load() }

// Listed reports whether the document is on the newest list. It does not allocate and does not wait.
func (b *Blocklist) Listed(d Document) bool {
	list := b.list.Load()
	return list != nil && list.Contains(d)
}

// Run takes each new snapshot until ctx ends, and returns nil.
func (b *Blocklist) Run(ctx context.Context) error {
	background.Every(ctx, lookEvery, b.remap)
	return nil
}

// remap opens the snapshot if the file has changed since it was last opened.
func (b *Blocklist) remap() {
	info, err := os.Stat(b.path)
	if err != nil || sameFile(info, b.seen) {
		return // the list that is mapped stays, also if the file was deleted
	}
	list, err := Open(b.path)
	if err == nil || errors.Is(err, ErrCorrupt) {
		b.seen = info // any other fault may pass: it is tried again
	}
	if err == nil {
		b.list.Store(list)
	} else if b.faults.Due(time.Now()) > 0 {
		slog.Error("the snapshot of the blocklist is not used", "error", err)
	}
}
