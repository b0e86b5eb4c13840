package ledger

import (
	"context"
	"maps"
	"slices"
)

// Place is where the messages of a thread are: from Kept to First-1 in the database, from First to Last in
// Redis. Of a thread that has ended the database must have none.
type Place struct {
	Thread, Epoch     string
	Kept, First, Last int64
	Ended             bool // its messages are to be deleted
}

// Source is what Redis has of the messages.
type Source interface {
	// Survey calls visit with every thread, also with those that have ended until their messages are deleted.
	Survey(ctx context.Context, visit func(Place)) error
	// Look calls visit with a thread, if there is one.
	Look(thread string, visit func(Place)) error
	// Read returns messages of a thread from an id on, at most limit, in order.
	Read(thread string, from int64, limit int) ([]Message, error)
}

// span is what the database has of a thread.
type span struct {
	thread, epoch     string
	rows, first, last int64
}

// messageAudit is a comparison that goes on.
type messageAudit struct {
	*Audit
	database *Messages
	source   Source
	max      int64 // messages of a thread that Redis keeps
}

// CompareMessages audits the messages of all threads. messagesMax is how many of a thread Redis keeps. It
// holds all threads in memory, about 200 bytes each. It is right even while messages are sent, because it
// reads Redis before the database, and looks a difference up in Redis again.
func CompareMessages(ctx context.Context, m *Messages, source Source, messagesMax int) (*Audit, error) {
	c := messageAudit{&Audit{Title: "all messages", What: "messages"}, m, source, int64(messagesMax)}
	places := map[[2]string]Place{}
	err := source.Survey(ctx, func(p Place) { places[[2]string{p.Thread, p.Epoch}] = p })
	if err != nil {
		return nil, err
	}
	for _, p := range places {
		if !p.Ended {
			c.InRedis += int(p.Last - p.First + 1)
			c.OnTheWay += int(max(0, p.Last-p.First+1-c.max))
		}
	}
	var s span
	err = m.database.each(ctx, "messages", func() error {
		of := [2]string{s.thread, s.epoch}
		p, known := places[of]
		delete(places, of)
		c.Rows += int(s.rows)
		return c.compare(ctx, s, p, known)
	}, []any{&s.thread, &s.epoch, &s.rows, &s.first, &s.last}, "SELECT thread_id, epoch, COUNT(*), MIN(id), "+
		"MAX(id) FROM messages GROUP BY thread_id, epoch")
	if err != nil {
		return nil, err
	}
	for _, of := range slices.SortedFunc(maps.Keys(places), func(x, y [2]string) int {
		return slices.Compare(x[:], y[:])
	}) {
		if p := places[of]; p.First > p.Kept {
			if err := c.missing(p, p.First-p.Kept); err != nil {
				return nil, err
			}
		}
	}
	return c.Audit, nil
}

// compare judges what the database has of a thread.
func (c *messageAudit) compare(ctx context.Context, s span, p Place, known bool) error {
	if !known || !p.Ended && s.last > p.Last { // it may have begun, or gone on, meanwhile
		known = false
		if err := c.source.Look(s.thread, func(now Place) { p, known = now, now.Epoch == s.epoch }); err != nil {
			return err
		}
	}
	switch {
	case !known:
		c.count(&c.Extra, s.rows, "extra: %d messages of thread %s, which is not there", s.rows, s.thread)
		return nil
	case p.Ended:
		c.OnTheWay += int(s.rows)
		return nil
	case s.last > p.Last:
		n, err := c.rows(ctx, s, p.Last+1, s.last)
		if err != nil {
			return err
		}
		c.count(&c.Extra, n, "extra: %d messages of thread %s after %d", n, s.thread, p.Last)
	}
	have, err := c.rows(ctx, s, p.Kept, p.First-1)
	if err == nil && have < p.First-p.Kept {
		err = c.missing(p, p.First-p.Kept-have)
	}
	if err == nil && s.last >= p.First {
		err = c.both(s, p)
	}
	return err
}

// rows counts the messages of a thread from and to these ids in the database.
func (c *messageAudit) rows(ctx context.Context, s span, from, to int64) (n int64, err error) {
	from, to = max(from, s.first), min(to, s.last)
	if from > to {
		return 0, nil
	}
	if s.rows == s.last-s.first+1 {
		return to - from + 1, nil
	}
	err = c.database.database.each(ctx, "messages", func() error { return nil }, []any{&n},
		"SELECT COUNT(*) FROM messages WHERE thread_id = ? AND epoch = ? AND id BETWEEN ? AND ?",
		s.thread, s.epoch, from, to)
	return n, err
}

// missing counts messages that the database should have, unless the thread has ended meanwhile.
func (c *messageAudit) missing(p Place, n int64) error {
	return c.source.Look(p.Thread, func(now Place) {
		if now.Epoch == p.Epoch {
			c.count(&c.Missing, n, "missing: %d messages of thread %s from %d to %d", n, p.Thread, p.Kept, p.First-1)
		}
	})
}

// both compares messages that Redis and the database have: they are about to leave Redis.
func (c *messageAudit) both(s span, p Place) error {
	stored, err := c.source.Read(s.thread, p.First, batchMax)
	if err != nil || len(stored) == 0 {
		return err
	}
	rows, err := c.database.Load(s.thread, s.epoch, stored[0].ID, stored[len(stored)-1].ID)
	if err != nil {
		return err
	}
	for _, row := range rows {
		i, found := slices.BinarySearchFunc(stored, row.ID,
			func(m Message, id int64) int { return int(m.ID - id) })
		switch {
		case !found || stored[i].Removed: // the database learns it with the next message
		case row.Removed || row.User != stored[i].User || row.Content != stored[i].Content ||
			!row.Created.Equal(stored[i].Created):
			c.count(&c.Different, 1, "different: message %d of thread %s", row.ID, s.thread)
		}
	}
	return nil
}
