package events

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/internal/background"
	"flashsale/internal/logpace"
	"flashsale/redisx/pipeline"
)

const (
	WaitMax  = 30 * time.Second // of one call
	LimitMax = 1000             // events of one call

	waitersMax = 64                     // calls of a process that wait at once
	look       = 200 * time.Millisecond // between two looks for new events
)

// Errors of Read.
var (
	ErrGone      = errors.New("events behind this cursor are no longer kept, or are another sale's")
	ErrBadCursor = errors.New("this is no cursor of events")
	ErrBusy      = errors.New("too many calls wait for events")
)

// Reader reads the events of a sale, of all its streams together.
type Reader struct {
	*Streams
	waiting atomic.Int32
	pace    logpace.Pace
	ended   chan struct{}
	end     func()

	mu   sync.Mutex
	news chan struct{} // closed when a stream has grown
	last []radix.StreamEntryID
}

// NewReader makes a Reader. Reads wait for new events only while Run runs.
func NewReader(s *Streams) *Reader {
	r := &Reader{Streams: s, ended: make(chan struct{}), news: make(chan struct{})}
	r.end = sync.OnceFunc(func() { close(r.ended) })
	return r
}

// Run looks for new events while somebody waits for them.
func (r *Reader) Run(ctx context.Context) error {
	background.Every(ctx, look, r.look)
	r.end()
	return nil
}

// End answers all calls that wait.
func (r *Reader) End() { r.end() }

// look wakes those who wait when a stream has grown.
func (r *Reader) look() {
	if r.waiting.Load() == 0 {
		return
	}
	pages := make([][]radix.StreamEntry, len(r.list))
	err := r.each(func(x *pipeline.Call, i int) {
		x.Command(&pages[i], "XREVRANGE", r.list[i].key, "+", "-", "COUNT", "1")
	})
	if err != nil {
		return // a call that waits notices it
	}
	last := make([]radix.StreamEntryID, len(pages))
	for i, page := range pages {
		if len(page) > 0 {
			last[i] = page[0].ID
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(last, r.last) {
		r.last = last
		close(r.news)
		r.news = make(chan struct{})
	}
}

// each adds commands for each stream and carries them out, one call for each connection.
func (s *Streams) each(add func(x *pipeline.Call, stream int)) error {
	var errs []error
	for _, conn := range s.conns {
		x := pipeline.NewCall()
		for i, of := range s.list {
			if of.redis == conn {
				add(x, i)
			}
		}
		errs = append(errs, conn.Do(x))
	}
	return errors.Join(errs...)
}

// Page is what a read returns.
type Page struct {
	Events []Event
	Next   string // the cursor behind them

	skipped bool // there were entries that are no events
}

// cursor is how far each stream was read. As a text it is "<sale>.<id>.<id>...", in the order of the
// streams.
type cursor []radix.StreamEntryID

func (r *Reader) parse(text string) (c cursor, err error) {
	c = make(cursor, len(r.list))
	if text == "" {
		return c, nil
	}
	parts := strings.Split(text, ".")
	for i, part := range parts[1:] {
		time, seq, _ := strings.Cut(part, "-")
		var id radix.StreamEntryID
		var err1, err2 error
		id.Time, err1 = strconv.ParseUint(time, 10, 63)
		id.Seq, err2 = strconv.ParseUint(seq, 10, 63)
		if err1 != nil || err2 != nil {
			return nil, ErrBadCursor
		}
		if i < len(c) {
			c[i] = id
		}
	}
	if len(parts) == 1 || parts[0] == "" {
		return nil, ErrBadCursor
	}
	if parts[0] != r.sale || len(parts) != len(c)+1 {
		return nil, ErrGone
	}
	return c, nil
}

func (r *Reader) text(c cursor) string {
	text := r.sale
	for _, id := range c {
		text += "." + id.String()
	}
	return text
}

// Read returns at most limit events behind a cursor, "" for the oldest that are kept, by time; those of one
// order are in order. Where there are none it waits for one. Errors: ErrGone, ErrBadCursor, ErrBusy,
// pipeline.ErrUnavailable.
func (r *Reader) Read(after string, wait time.Duration, limit int) (Page, error) {
	at, err := r.parse(after)
	if err != nil {
		return Page{}, err
	}
	over := time.NewTimer(wait)
	defer over.Stop()
	if wait > 0 {
		defer r.waiting.Add(-1)
		if r.waiting.Add(1) > waitersMax {
			return Page{}, ErrBusy
		}
	}
	for first := after == ""; ; first = false {
		r.mu.Lock()
		news := r.news
		r.mu.Unlock()
		page, err := r.page(at, first, limit)
		switch {
		case err != nil || len(page.Events) > 0:
			return page, err
		case page.skipped:
			continue
		case wait == 0:
			return page, nil
		}
		select {
		case <-news:
		case <-r.ended:
			return page, nil
		case <-over.C:
			return page, nil
		}
	}
}

// found is an event and where it was.
type found struct {
	Event
	stream int
	id     radix.StreamEntryID
}

// page reads what there is, and moves the cursor behind it. first is whether the cursor may lie before the
// oldest event.
func (r *Reader) page(at cursor, first bool, limit int) (p Page, err error) {
	pages, cuts := make([][]radix.StreamEntry, len(r.list)), make([]cut, len(r.list))
	err = r.each(func(x *pipeline.Call, i int) {
		r.list[i].askCut(x, &cuts[i])
		x.Command(&pages[i], "XRANGE", r.list[i].key, at[i].Next().String(), "+", "COUNT", strconv.Itoa(limit))
	})
	if err != nil {
		return p, err
	}
	var all []found
	for i, page := range pages {
		if err := cuts[i].parse(); err != nil {
			return p, err
		}
		if first && at[i].Before(cuts[i].ID) {
			at[i] = cuts[i].ID
		}
		if at[i].Before(cuts[i].ID) {
			return p, ErrGone
		}
		for _, entry := range page {
			e, err := r.list[i].read(entry)
			if err != nil { // it must not hold up those behind it
				e.Type = ""
				if r.pace.Due(time.Now()) > 0 {
					slog.Error("an event cannot be read and is left out", "error", err)
				}
			}
			all = append(all, found{e, i, entry.ID})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.id.Time, b.id.Time), cmp.Compare(a.stream, b.stream))
	})
	for _, one := range all[:min(limit, len(all))] {
		at[one.stream] = one.id
		if one.Type != "" {
			p.Events = append(p.Events, one.Event)
		}
	}
	p.skipped = len(p.Events) == 0 && len(all) > 0
	p.Next = r.text(at)
	return p, nil
}
