package events

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/mediocregopher/radix/v4"
	"golang.org/x/sync/errgroup"

	"flashsale/internal/logpace"
	"flashsale/internal/webhook"
)

const (
	batch     = 1024 // events that are read at a time
	inFlight  = 64   // posts to a receiver at once, for each stream
	triesLast = 3 * 24 * time.Hour
	pauseMost = 6 * time.Hour // between two tries of an event
	probeMost = 15 * time.Second
	offEvery  = time.Second // between two looks whether a receiver is switched on again
)

// delivery carries the events of one stream to one receiver. Its place is in Redis: whoever goes on repeats
// at most one batch.
type delivery struct {
	cfg      *Config
	receiver Receiver
	stream   *stream
	hook     *webhook.Hook

	place
	loaded bool
	over   bool      // the sale has ended, and all is delivered for now
	until  time.Time // the receiver wants nothing before
	fails  int       // in a row
	pace   logpace.Pace
}

// away reports whether the receiver takes nothing: then one event at a time is tried.
func (d *delivery) away() bool { return d.fails >= inFlight }

// step delivers one batch, and returns how long to wait for the next one.
func (d *delivery) step(ctx context.Context) time.Duration {
	if !d.loaded || d.off {
		if err := d.load(); err != nil {
			return d.failed(err)
		}
		d.loaded = true
	}
	if d.off {
		d.over = d.cfg.Ended
		return offEvery
	}
	if d.cfg.Now().Before(d.until) {
		return d.cfg.Look
	}
	work, err := d.read()
	if err != nil {
		return d.failed(err)
	}
	if len(work.orders) == 0 && !work.moved {
		d.over = d.cfg.Ended && len(d.later) == 0
		return d.cfg.Look
	}
	away := d.away()
	d.post(ctx, work)
	if ctx.Err() != nil {
		return 0 // what was delivered since the last save is delivered again
	}
	back := away && d.fails == 0
	if back { // what has failed meanwhile need not wait for its time
		work.soon = true
	}
	if err := d.save(work); err != nil {
		d.loaded = false // as it is in Redis
		return d.failed(err)
	}
	switch {
	case d.off:
		return offEvery
	case d.away():
		return min(time.Second<<min(d.fails/inFlight, 10), probeMost)
	case work.full || back:
		return 0
	}
	return d.cfg.Look
}

func (d *delivery) failed(err error) time.Duration {
	if n := d.pace.Due(time.Now()); n > 0 {
		slog.Warn("events are not delivered", "webhook", d.receiver.Name, "stream", d.stream.key, "error", err)
	}
	return time.Second
}

// work is a batch.
type work struct {
	orders [][]*item // of one order each
	items  []*item
	moved  bool // the cursor has moved
	full   bool // there may be more
	soon   bool // all that waits is due

	mu   sync.Mutex
	halt bool // what is not posted yet waits
	gone bool // the receiver wants no more events
}

// item is an event of a batch.
type item struct {
	entry radix.StreamEntryID
	retry
	done bool
	dead string // why it is given up
}

// read returns what can be posted now: events whose time has come again, then new ones, by order. An event
// waits while one of the same order before it does.
func (d *delivery) read() (*work, error) {
	w := &work{}
	now, most := d.cfg.Now(), batch
	if d.away() {
		most = 1 // a probe
	}
	blocked := map[string]bool{} // orders with an event that waits for a later time
	byOrder := map[string]int{}
	for _, entry := range d.waiting() {
		switch r := d.later[entry]; {
		case blocked[r.event.Order]:
		case r.at.After(now) || len(w.items) == most:
			blocked[r.event.Order] = true
		default:
			w.add(&item{entry: entry, retry: r}, byOrder)
		}
	}
	if len(d.later) >= laterMost || len(w.items) >= most {
		w.full = len(w.items) >= most
		return w, nil
	}
	page, err := d.next(most)
	if err != nil {
		return nil, err
	}
	w.full, w.moved = len(page) == most, len(page) > 0
	for _, entry := range page {
		d.cursor, d.passed = entry.ID, d.passed+1
		e, err := d.stream.read(entry)
		if err != nil {
			slog.Error("an event cannot be read and is left out", "error", err)
			continue
		}
		if e.Type == "" || !d.receiver.wants(e.Type) {
			continue
		}
		i := &item{entry: entry.ID, retry: retry{event: e, at: now}}
		if blocked[e.Order] {
			w.items = append(w.items, i) // behind the one that failed
			continue
		}
		w.add(i, byOrder)
	}
	return w, nil
}

// add adds an event behind those of its order. The events of the sale itself count as those of one order.
func (w *work) add(i *item, byOrder map[string]int) {
	w.items = append(w.items, i)
	at, known := byOrder[i.event.Order]
	if !known {
		at = len(w.orders)
		byOrder[i.event.Order] = at
		w.orders = append(w.orders, nil)
	}
	w.orders[at] = append(w.orders[at], i)
}

// post posts a batch: those of one order one after the other, until one fails.
func (d *delivery) post(ctx context.Context, w *work) {
	group := errgroup.Group{}
	group.SetLimit(inFlight)
	for _, order := range w.orders {
		group.Go(func() error {
			for n, i := range order {
				if !d.postOne(ctx, w, i) {
					for _, behind := range order[n+1:] {
						behind.at = i.at
					}
					break
				}
			}
			return nil
		})
	}
	_ = group.Wait() // nil
}

// postOne posts an event and reports whether the next one of its order may go.
func (d *delivery) postOne(ctx context.Context, w *work, i *item) bool {
	w.mu.Lock()
	halt := w.halt
	w.mu.Unlock()
	now := d.cfg.Now()
	i.at = now
	if halt || ctx.Err() != nil {
		return false
	}
	err := d.hook.Post(ctx, i.event.ID, now, i.event.Body)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		d.fails, i.done = 0, true
		d.cfg.Count(d.receiver.Name, Delivered, 1)
		return true
	}
	if ctx.Err() != nil {
		return false
	}
	d.fails++
	var refused webhook.Refused
	errors.As(err, &refused)
	w.halt = w.halt || d.away() || refused.After > 0 || refused.Status == http.StatusGone
	if refused.Status == http.StatusGone {
		w.gone = true
		return false
	}
	if at := now.Add(min(refused.After, pauseMost)); at.After(d.until) {
		d.until = at
	}
	i.tries++
	i.at = now.Add(pauseAfter(i.tries))
	if n := d.pace.Due(now); n > 0 {
		slog.Warn("a webhook takes no events", "webhook", d.receiver.Name, "failures", n, "error", err)
	}
	if now.Sub(i.event.At) > triesLast {
		i.dead = err.Error()
	}
	return i.dead != "" // the events behind it must not wait for ever
}

// pauseAfter is the pause after so many tries: 5 s, then three times as long each time.
func pauseAfter(tries int) time.Duration {
	pause := 5 * time.Second
	for range tries - 1 {
		if pause *= 3; pause >= pauseMost {
			return pauseMost
		}
	}
	return pause
}
