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

	placesMax = 600                    // in a cursor, so that a URL can hold it; fewer sales with many slices
	look      = 200 * time.Millisecond // between two looks for new events
)

// Errors of Read.
var (
	ErrGone      = errors.New("events behind this cursor are no longer kept, or its sale is not known")
	ErrBadCursor = errors.New("this is no cursor of events")
)

// Reader reads the events of the sale that Redis has and of those before it, of all streams together.
type Reader struct {
	waiting atomic.Int32
	pace    logpace.Pace
	ended   chan struct{}
	end     func()

	mu   sync.Mutex
	told *Streams
	news chan struct{} // closed when a stream has grown, or the next sale has begun
	last []radix.StreamEntryID
}

// NewReader makes a Reader. Reads wait for new events only while Run runs.
func NewReader(s *Streams) *Reader {
	r := &Reader{told: s, ended: make(chan struct{}), news: make(chan struct{})}
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
	told, err := r.streams()
	if err != nil {
		return // a call that waits notices it
	}
	pages := make([][]radix.StreamEntry, len(told.list))
	err = told.each(func(x *pipeline.Call, i int) {
		x.Command(&pages[i], "XREVRANGE", told.list[i].key, "+", "-", "COUNT", "1")
	})
	if err != nil {
		return
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

// streams returns those that are told now.
func (r *Reader) streams() (*Streams, error) {
	r.mu.Lock()
	told := r.told
	r.mu.Unlock()
	told, err := told.known(min(SalesMax, max(2, placesMax/(len(told.slices)+1))))
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = told
	return told, nil
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

// cursor is how far each stream was read. As a text it is "<sale>.<id>.<id>...~<sale>.<id>...", the last
// sale first, without those of which nothing was read. The numbers of an id are written in base 36.
type cursor []radix.StreamEntryID

const base = 36

// parse reads a cursor. A sale that it does not name has begun later, and is read from its beginning. One
// that is too old by now is left out.
func (s *Streams) parse(text string) (c cursor, err error) {
	c = make(cursor, len(s.list))
	if text == "" {
		return c, nil
	}
	streams := len(s.list) / len(s.sales)
	for n, part := range strings.Split(text, "~") {
		fields := strings.Split(part, ".")
		ids, err := parseIDs(fields[1:])
		if err != nil || len(ids) == 0 || fields[0] == "" {
			return nil, ErrBadCursor
		}
		sale := slices.Index(s.sales, fields[0])
		if sale < 0 && n > 0 {
			continue
		}
		if sale < 0 || len(ids) != streams {
			return nil, ErrGone
		}
		copy(c[sale*streams:], ids)
	}
	return c, nil
}

func parseIDs(texts []string) (ids []radix.StreamEntryID, err error) {
	for _, text := range texts {
		time, seq, more := strings.Cut(text, "-")
		var id radix.StreamEntryID
		if id.Time, err = strconv.ParseUint(time, base, 63); err == nil && more {
			id.Seq, err = strconv.ParseUint(seq, base, 63)
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (s *Streams) text(c cursor) string {
	var parts []string
	none := cursor(make([]radix.StreamEntryID, len(s.list)/len(s.sales)))
	for n, sale := range s.sales {
		ids := c[n*len(none) : (n+1)*len(none)]
		if n > 0 && slices.Equal(ids, none) {
			continue
		}
		for _, id := range ids {
			if sale += "." + strconv.FormatUint(id.Time, base); id.Seq > 0 {
				sale += "-" + strconv.FormatUint(id.Seq, base)
			}
		}
		parts = append(parts, sale)
	}
	return strings.Join(parts, "~")
}

// Read returns at most limit events behind a cursor, "" for the oldest that are kept, by time; those of one
// order are in order. Where there are none it waits for one. Errors: ErrGone, ErrBadCursor,
// pipeline.ErrUnavailable.
func (r *Reader) Read(after string, wait time.Duration, limit int) (Page, error) {
	over := time.NewTimer(wait)
	defer over.Stop()
	if wait > 0 {
		r.waiting.Add(1)
		defer r.waiting.Add(-1)
	}
	for {
		r.mu.Lock()
		news := r.news
		r.mu.Unlock()
		page, err := r.page(after, limit)
		after = page.Next
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

// page reads what there is behind a cursor.
func (r *Reader) page(after string, limit int) (p Page, err error) {
	told, err := r.streams()
	if err != nil {
		return p, err
	}
	at, err := told.parse(after)
	if err != nil {
		return p, err
	}
	pages, cuts := make([][]radix.StreamEntry, len(at)), make([]cut, len(at))
	err = told.each(func(x *pipeline.Call, i int) {
		told.list[i].askCut(x, &cuts[i])
		x.Command(&pages[i], "XRANGE", told.list[i].key, at[i].Next().String(), "+", "COUNT", strconv.Itoa(limit))
	})
	if err != nil {
		return p, err
	}
	var all []found
	for i, page := range pages {
		if err := cuts[i].parse(); err != nil {
			return p, err
		}
		switch {
		case after == "":
			at[i] = cuts[i].ID
		case cuts[i].hides(at[i], page):
			return p, ErrGone
		}
		for _, entry := range page {
			e, err := told.list[i].read(entry)
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
	p.Next = told.text(at)
	return p, nil
}
