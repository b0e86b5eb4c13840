package redisx

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

// The kinds of entries in the log of a sale.
const (
	LogOpened  = "opened" // the sale was made
	LogState   = "state"
	LogTimes   = "times"
	LogStock   = "stock"
	LogSoldOut = "sold_out" // no food has pieces left
	LogOrder   = "order"    // an operator has changed a held order
)

// LogEntry is a change of the sale in its log. No server deletes entries.
type LogEntry struct {
	At   time.Time // by the clock of Redis, to the millisecond
	By   string    // "root", "terminal", or "clock" for a change at its time
	What string    // one of the kinds; the fields below belong to some kinds

	StateBefore, StateAfter State // LogState
	TimesBefore, TimesAfter Times // LogTimes; LogOpened has only TimesAfter

	Food, Add   int64 // LogStock
	StockBefore int64 // LogStock, pieces left
	StockAfter  int64 // LogStock
	Pieces      int64 // LogOpened: of all foods

	User                    uint32 // LogOrder
	Number                  int    // LogOrder: of the user's orders before it
	ItemsBefore, ItemsAfter []Item // LogOrder; none after: it was cancelled
	Reason                  string // LogOrder
}

// LogScan reads the log of a sale from its beginning, one page at a time. What the home slice does not have
// comes last: changes of held orders, which stand in the slices of these orders.
type LogScan struct {
	sale  *Sale
	slice int    // that is read
	from  string // its next entry to read
}

// ScanLog starts a scan.
func (s *Sale) ScanLog() *LogScan { return &LogScan{sale: s, from: "-"} }

// Next returns the next entries, at least one, in order; io.EOF after the last. With any other error it
// returns the entries that can be read.
func (l *LogScan) Next(ctx context.Context) ([]LogEntry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for l.slice < len(l.sale.slices) {
		var found presence
		var page []radix.StreamEntry
		part := &l.sale.slices[l.slice]
		x := part.prove(pipeline.NewCall(), &found).Command(&page, "XRANGE", part.keys.Log, l.from, "+",
			"COUNT", strconv.Itoa(ScanCount))
		if err := part.read(x, &found); err != nil {
			return nil, err
		}
		if l.from = behind(page); len(page) < ScanCount {
			l.slice, l.from = l.slice+1, "-"
			if l.sale.cfg.Hold == 0 {
				l.slice = len(l.sale.slices)
			}
		}
		if len(page) > 0 {
			return parseLog(page)
		}
	}
	return nil, io.EOF
}

// Changes returns the entries of a sale's log since the last call, in order, at most one page. For another
// sale than in the last call it begins with the first entry. Calls must not overlap. After ErrUnavailable
// the next call returns the missed entries. Any other error is about entries that cannot be read: it comes
// once, with the entries that can.
func (f *Follower) Changes(sale string) ([]LogEntry, error) {
	if f.logged != sale {
		f.logged, f.from = sale, "-"
	}
	var page []radix.StreamEntry
	err := f.redis.Do(pipeline.Command(&page, "XRANGE", f.cfg.KeysOf(sale, 0).Log, f.from, "+",
		"COUNT", strconv.Itoa(ScanCount)))
	if err != nil || len(page) == 0 {
		return nil, err
	}
	f.from = behind(page)
	return parseLog(page)
}

// behind returns the id from which to read the log after a page.
func behind(page []radix.StreamEntry) string {
	if len(page) == 0 {
		return "-"
	}
	return page[len(page)-1].ID.Next().String()
}

// parseLog returns the entries that can be read, and the error of the first one that cannot.
func parseLog(page []radix.StreamEntry) (entries []LogEntry, err error) {
	for _, entry := range page {
		switch e, wrong := ParseLogEntry(entry); {
		case wrong == nil:
			entries = append(entries, e)
		case err == nil:
			err = fmt.Errorf("entry %s of the log: %w", entry.ID, wrong)
		}
	}
	return entries, err
}

func ParseLogEntry(entry radix.StreamEntry) (LogEntry, error) {
	fields := map[string]string{}
	for _, field := range entry.Fields {
		fields[field[0]] = field[1]
	}
	e := LogEntry{At: time.UnixMilli(int64(entry.ID.Time)).UTC(), By: fields["by"], What: fields["what"]}
	r := logReader{fields: fields}
	switch e.What {
	case LogOpened:
		e.Pieces = r.number("pieces")
		e.TimesAfter = Times{r.time("opens_at"), r.time("closes_at")}
	case LogState:
		e.StateBefore, e.StateAfter = State(fields["before"]), State(fields["after"])
	case LogTimes:
		e.TimesBefore = Times{r.time("opens_before"), r.time("closes_before")}
		e.TimesAfter = Times{r.time("opens_after"), r.time("closes_after")}
	case LogStock:
		e.Food, e.Add = r.number("food"), r.number("add")
		e.StockBefore, e.StockAfter = r.number("before"), r.number("after")
	case LogOrder:
		e.User, e.Number, e.Reason = uint32(r.number("user")), int(r.number("number")), fields["reason"]
		e.ItemsBefore, e.ItemsAfter = r.items("items"), r.items("left")
	}
	return e, r.err
}

// logReader reads the numbers of an entry and keeps the first error.
type logReader struct {
	fields map[string]string
	err    error
}

func (r *logReader) number(name string) int64 {
	n, err := strconv.ParseInt(r.fields[name], 10, 64)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("cannot read its field %s: %w", name, err)
	}
	return n
}

// items reads what was ordered; an empty text is nothing.
func (r *logReader) items(name string) []Item {
	if r.fields[name] == "" {
		return nil
	}
	items, err := ParseItems([]byte(r.fields[name]), math.MaxInt)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("cannot read its field %s: %w", name, err)
	}
	return items
}

// time reads Unix milliseconds; an empty text is no time.
func (r *logReader) time(name string) time.Time {
	if r.fields[name] == "" {
		return time.Time{}
	}
	return timeOf(r.number(name))
}
