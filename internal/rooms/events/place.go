package events

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

const (
	laterMost = 10_000 // events of a receiver that failed, or wait behind one that failed; then all wait
	deadMost  = 1_000  // letters that are kept for each receiver and stream; the oldest go
)

// place is how far a delivery is. In Redis it is a hash:
//
//	cursor    id of the last entry that was read
//	passed    how many entries of the stream there were up to it
//	from      id of the first entry that is not delivered; without one that of the cursor and one more
//	off       the time at which the receiver has refused all further events (410): Unix ms
//	l<entry>  "tries ms": an event that is tried again then, or, with 0 tries, waits behind one of its order
type place struct {
	cursor radix.StreamEntryID
	passed int64
	later  map[radix.StreamEntryID]retry
	off    bool
}

// retry is an event that is tried again.
type retry struct {
	event Event
	tries int
	at    time.Time
}

// waiting returns the entries of events that are tried again, in order.
func (p *place) waiting() []radix.StreamEntryID {
	return slices.SortedFunc(maps.Keys(p.later), compare)
}

func compare(a, b radix.StreamEntryID) int {
	switch {
	case a.Before(b):
		return -1
	case a == b:
		return 0
	}
	return 1
}

// load reads the place, and the events that are tried again.
func (d *delivery) load() error {
	fields := map[string]string{}
	x := pipeline.Command(&fields, "HGETALL", d.stream.placeKey(d.receiver.Name))
	if err := d.stream.redis.Do(x); err != nil {
		return err
	}
	d.place = place{later: map[radix.StreamEntryID]retry{}, off: fields["off"] != ""}
	var err error
	if text := fields["cursor"]; text != "" {
		if d.cursor, err = parseID(text); err == nil {
			d.passed, err = strconv.ParseInt(fields["passed"], 10, 64)
		}
	}
	for name, value := range fields {
		text, found := strings.CutPrefix(name, "l")
		if !found || err != nil {
			continue
		}
		var entry radix.StreamEntryID
		var r retry
		var ms int64
		if entry, err = parseID(text); err == nil {
			_, err = fmt.Sscan(value, &r.tries, &ms)
		}
		r.at = time.UnixMilli(ms)
		d.later[entry] = r
	}
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", d.stream.placeKey(d.receiver.Name), err)
	}
	return d.fetch()
}

func parseID(text string) (id radix.StreamEntryID, err error) {
	_, err = fmt.Sscanf(text, "%d-%d", &id.Time, &id.Seq)
	return id, err
}

// fetch reads the events that are tried again.
func (d *delivery) fetch() error {
	entries := d.waiting()
	if len(entries) == 0 {
		return nil
	}
	pages := make([][]radix.StreamEntry, len(entries))
	x := pipeline.NewCall()
	for i, entry := range entries {
		x.Command(&pages[i], "XRANGE", d.stream.key, entry.String(), entry.String())
	}
	if err := d.stream.redis.Do(x); err != nil {
		return err
	}
	lost := 0
	for i, entry := range entries {
		if len(pages[i]) == 0 {
			lost++
			delete(d.later, entry)
			continue
		}
		r := d.later[entry]
		var err error
		if r.event, err = d.stream.read(pages[i][0]); err != nil {
			return err
		}
		d.later[entry] = r
	}
	d.lost(lost)
	return nil
}

func (d *delivery) lost(events int) {
	if events > 0 {
		d.cfg.Count(d.receiver.Name, Lost, events)
		slog.Error("events were lost: the stream was full before the webhook took them",
			"webhook", d.receiver.Name, "stream", d.stream.key, "events", events)
	}
}

// next reads the next entries of the stream, and notices those that were cut off before.
func (d *delivery) next(most int) (page []radix.StreamEntry, err error) {
	var gone cut
	x := pipeline.NewCall()
	d.stream.askCut(x, &gone)
	x.Command(&page, "XRANGE", d.stream.key, d.cursor.Next().String(), "+", "COUNT", strconv.Itoa(most))
	if err := d.stream.redis.Do(x); err != nil {
		return nil, err
	}
	if err := gone.parse(); err != nil {
		return nil, err
	}
	if d.cursor.Before(gone.ID) {
		if d.cursor != (radix.StreamEntryID{}) { // a new receiver gets what is kept
			d.lost(int(gone.Count - d.passed))
		}
		d.cursor, d.passed = gone.ID, gone.Count
	}
	return page, nil
}

// letter is an event that was given up.
type letter struct {
	Event json.RawMessage `json:"event"`
	Tries int             `json:"tries"`
	Error string          `json:"error"`
}

// save notes what was done.
func (d *delivery) save(w *work) error {
	key := d.stream.placeKey(d.receiver.Name)
	set := []string{"HSET", key, "cursor", d.cursor.String(), "passed", strconv.FormatInt(d.passed, 10)}
	done, dead := []string{"HDEL", key}, []string{"HSET", d.stream.deadKey(d.receiver.Name)}
	for _, i := range w.items {
		if i.done || i.dead != "" {
			if _, was := d.later[i.entry]; was {
				done = append(done, "l"+i.entry.String())
				delete(d.later, i.entry)
			}
			if i.dead != "" {
				text, _ := json.Marshal(letter{i.event.Body, i.tries, i.dead}) // these can always be written
				dead = append(dead, i.entry.String(), string(text))
			}
			continue
		}
		d.later[i.entry] = i.retry
		set = append(set, "l"+i.entry.String(), fmt.Sprintf("%d %d", i.tries, i.at.UnixMilli()))
	}
	if w.soon {
		for entry, r := range d.later {
			r.at = d.cfg.Now()
			d.later[entry] = r
		}
	}
	from := d.cursor.Next()
	if waiting := d.waiting(); len(waiting) > 0 {
		from = waiting[0]
	}
	set = append(set, "from", from.String())
	if w.gone {
		d.off = true
		set = append(set, "off", strconv.FormatInt(d.cfg.Now().UnixMilli(), 10))
		slog.Error("a webhook wants no more events (410): its events wait until it is switched on", "webhook",
			d.receiver.Name)
	}
	x := pipeline.Command(nil, set...)
	if len(done) > 2 {
		x.Command(nil, done...)
	}
	if len(dead) > 2 {
		x.Command(nil, dead...)
		d.cfg.Count(d.receiver.Name, Dead, len(dead)/2-1)
	}
	if err := d.stream.redis.Do(x); err != nil {
		return err
	}
	if len(dead) > 2 {
		return d.bury()
	}
	return nil
}

// bury drops the oldest dead letters over the limit.
func (d *delivery) bury() error {
	var entries []string
	key := d.stream.deadKey(d.receiver.Name)
	err := d.stream.redis.Do(pipeline.Command(&entries, "HKEYS", key))
	if err != nil || len(entries) <= deadMost {
		return err
	}
	slices.SortFunc(entries, func(a, b string) int {
		x, _ := parseID(a)
		y, _ := parseID(b)
		return compare(x, y)
	})
	return d.stream.redis.Do(pipeline.Command(nil, append([]string{"HDEL", key},
		entries[:len(entries)-deadMost]...)...))
}
