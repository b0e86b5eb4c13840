package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mediocregopher/radix/v4"
	"golang.org/x/sync/errgroup"

	"flashsale/internal/logpace"
	"flashsale/internal/webhook"
	"flashsale/redisx/pipeline"
)

const (
	batch     = 256 // events that are read at a time
	inFlight  = 32  // posts to a receiver at once, for each stream
	triesLast = 3 * 24 * time.Hour
	pauseMost = 6 * time.Hour // between two tries of an event
	probeMost = 15 * time.Second
	laterMost = 10_000 // events of a receiver that failed or wait behind one that failed; then all wait
	deadMost  = 1_000  // letters that are kept for each receiver and stream; the oldest go
)

// delivery carries the events of one stream to one receiver. What it has done is in a hash of Redis, so that
// whoever goes on repeats at most one batch: its fields are
//
//	cursor    id of the last entry that was read
//	off       status with which the receiver refused all further events (410)
//	l<entry>  "tries ms": an event that is tried again then, or, with 0 tries, waits behind one of its order
type delivery struct {
	cfg      *Config
	receiver Receiver
	stream   Stream
	hook     *webhook.Hook
	redis    *pipeline.Conn

	cursor string
	later  map[string]retry // by entry
	off    bool
	fails  int // in a row
	pace   logpace.Pace
}

// retry is when an event is tried again.
type retry struct {
	tries int
	at    time.Time
}

func (d *delivery) key() string  { return d.stream.Key + ":" + d.receiver.Name }
func (d *delivery) dead() string { return d.stream.Key + ":" + d.receiver.Name + ":dead" }

// load reads what was done before.
func (d *delivery) load() error {
	fields := map[string]string{}
	if err := d.redis.Do(pipeline.Command(&fields, "HGETALL", d.key())); err != nil {
		return err
	}
	d.cursor, d.later, d.off = cmp.Or(fields["cursor"], "0-0"), map[string]retry{}, fields["off"] != ""
	for name, value := range fields {
		entry, found := strings.CutPrefix(name, "l")
		if !found {
			continue
		}
		var tries int
		var ms int64
		if _, err := fmt.Sscan(value, &tries, &ms); err != nil {
			return fmt.Errorf("cannot read the field %s %q of %s: %w", name, value, d.key(), err)
		}
		d.later[entry] = retry{tries, time.UnixMilli(ms)}
	}
	return nil
}

// step delivers one batch, and returns how long to wait for the next one.
func (d *delivery) step(ctx context.Context) time.Duration {
	if d.later == nil {
		if err := d.load(); err != nil {
			return d.failed(err)
		}
	}
	if d.off {
		return probeMost
	}
	work, err := d.read()
	if err != nil {
		return d.failed(err)
	}
	if len(work.orders) == 0 && work.cursor == d.cursor {
		return d.cfg.Look
	}
	away := d.fails >= inFlight
	d.post(ctx, work)
	if ctx.Err() != nil {
		return 0
	}
	back := away && d.fails == 0
	if back { // what has failed meanwhile need not wait for its time
		for entry, r := range d.later {
			d.later[entry] = retry{r.tries, d.cfg.Now()}
		}
	}
	if err := d.save(work); err != nil {
		d.later = nil // as it is in Redis
		return d.failed(err)
	}
	switch {
	case d.off:
		return probeMost
	case d.fails >= inFlight: // the receiver is away: one batch of it at a time
		return min(time.Second<<min(d.fails/inFlight, 10), probeMost)
	case work.full || back:
		return 0
	}
	return d.cfg.Look
}

func (d *delivery) failed(err error) time.Duration {
	if n := d.pace.Due(time.Now()); n > 0 {
		slog.Warn("events are not delivered", "webhook", d.receiver.Name, "stream", d.stream.Name, "error", err)
	}
	return time.Second
}

// work is a batch.
type work struct {
	cursor string
	full   bool // there may be more
	orders [][]*item

	mu   sync.Mutex
	gone bool // the receiver wants no more events
}

// item is an event of a batch.
type item struct {
	entry string
	event Event
	retry retry
	done  bool
	dead  bool
}

// read returns what can be posted now: events whose time has come again, then new ones, by order. An event
// waits while one of the same order before it does.
func (d *delivery) read() (*work, error) {
	w := &work{cursor: d.cursor}
	var again []string
	now := d.cfg.Now()
	for entry, r := range d.later {
		if !r.at.After(now) {
			again = append(again, entry)
		}
	}
	slices.SortFunc(again, compareIDs)
	blocked := map[string]bool{} // orders with an event that waits for a later time
	byOrder := map[string]int{}
	if len(d.later) > 0 {
		if err := d.readLater(w, again[:min(len(again), batch)], blocked, byOrder); err != nil {
			return nil, err
		}
	}
	if len(d.later) >= laterMost || d.fails >= inFlight && len(w.orders) > 0 {
		return w, nil
	}
	most := batch
	if d.fails >= inFlight {
		most = 1 // a probe
	}
	var page []radix.StreamEntry
	x := pipeline.Command(&page, "XRANGE", d.stream.Key, "("+d.cursor, "+", "COUNT", strconv.Itoa(most))
	if err := d.redis.Do(x); err != nil {
		return nil, err
	}
	w.full = len(page) == most
	for _, entry := range page {
		w.cursor = entry.ID.String()
		e, err := d.stream.read(entry)
		if err != nil {
			slog.Error("an event cannot be read and is left out", "error", err)
			continue
		}
		if e.Type == "" || !d.receiver.wants(e.Type) {
			continue
		}
		i := &item{entry: w.cursor, event: e}
		if blocked[e.Order] {
			i.retry = retry{0, now.Add(d.cfg.Look)}
			d.later[i.entry] = i.retry // behind the one that failed
			continue
		}
		w.add(i, byOrder)
	}
	return w, nil
}

// readLater adds the events that are tried again, and notes the orders whose first waiting event has time.
func (d *delivery) readLater(w *work, due []string, blocked map[string]bool, byOrder map[string]int) error {
	entries := slices.SortedFunc(maps.Keys(d.later), compareIDs)
	x := pipeline.NewCall()
	pages := make([][]radix.StreamEntry, len(entries))
	for i, entry := range entries[:min(len(entries), laterMost)] {
		x.Command(&pages[i], "XRANGE", d.stream.Key, entry, entry)
	}
	if err := d.redis.Do(x); err != nil {
		return err
	}
	isDue := map[string]bool{}
	for _, entry := range due {
		isDue[entry] = true
	}
	for i, entry := range entries {
		if len(pages[i]) == 0 { // the stream no longer has it
			slog.Error("an event was lost: the stream is full", "webhook", d.receiver.Name, "entry", entry)
			d.cfg.lost()
			delete(d.later, entry)
			continue
		}
		e, err := d.stream.read(pages[i][0])
		if err != nil {
			return err
		}
		if blocked[e.Order] {
			continue
		}
		if !isDue[entry] {
			blocked[e.Order] = true
			continue
		}
		w.add(&item{entry: entry, event: e, retry: d.later[entry]}, byOrder)
	}
	return nil
}

// add adds an event behind those of its order. The events of the sale itself count as those of one order.
func (w *work) add(i *item, byOrder map[string]int) {
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
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(inFlight)
	for _, order := range w.orders {
		group.Go(func() error {
			for n, i := range order {
				if !d.postOne(ctx, w, i) {
					for _, behind := range order[n+1:] {
						behind.retry.at = i.retry.at
					}
					return nil
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
	gone := w.gone
	w.mu.Unlock()
	now := d.cfg.Now()
	i.retry.at = now
	if gone {
		return false
	}
	err := d.hook.Post(ctx, i.event.ID, now, i.event.Body)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		d.fails, i.done = 0, true
		d.cfg.delivered()
		return true
	}
	d.fails++
	var refused webhook.Refused
	errors.As(err, &refused)
	if refused.Status == 410 {
		w.gone = true
		return false
	}
	i.retry.tries++
	i.retry.at = now.Add(max(pauseAfter(i.retry.tries), min(refused.After, pauseMost)))
	if n := d.pace.Due(now); n > 0 && ctx.Err() == nil {
		slog.Warn("a webhook takes no events", "webhook", d.receiver.Name, "failures", n, "error", err)
	}
	i.dead = now.Sub(i.event.At) > triesLast
	return i.dead // the events behind it must not wait for ever
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

// save notes what was done.
func (d *delivery) save(w *work) error {
	set, gone := []string{"HSET", d.key(), "cursor", w.cursor}, []string{"HDEL", d.key()}
	x := pipeline.NewCall()
	later := maps.Clone(d.later)
	for _, order := range w.orders {
		for _, i := range order {
			switch {
			case i.done || i.dead:
				if _, was := later[i.entry]; was {
					gone = append(gone, "l"+i.entry)
					delete(later, i.entry)
				}
				if i.dead {
					x.Command(nil, "HSET", d.dead(), i.entry, string(i.event.Body))
					d.cfg.dead()
				}
			default:
				later[i.entry] = i.retry
			}
		}
	}
	for entry, r := range later {
		set = append(set, "l"+entry, fmt.Sprintf("%d %d", r.tries, r.at.UnixMilli()))
	}
	if w.gone {
		set = append(set, "off", "410")
		slog.Error("a webhook wants no more events (410): name it anew in the file of -webhooks to go on",
			"webhook", d.receiver.Name)
	}
	x.Command(nil, set...)
	if len(gone) > 2 {
		x.Command(nil, gone...)
	}
	if err := d.redis.Do(x); err != nil {
		return err
	}
	d.cursor, d.later, d.off = w.cursor, later, w.gone
	return nil
}

// compareIDs compares the ids of entries.
func compareIDs(a, b string) int {
	var x, y [2]uint64
	fmt.Sscanf(a, "%d-%d", &x[0], &x[1])
	fmt.Sscanf(b, "%d-%d", &y[0], &y[1])
	return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]))
}
