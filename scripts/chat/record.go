package main

import (
	"sync"

	"flashsale/scripts/bench/audit"
)

// The promises that the load checks.
const (
	storedOnce  = "every acknowledged message is stored once, as it was sent"
	gotOnce     = "every subscriber gets every message once, in order"
	recoverTrue = "recovered is true exactly where no message is gone"
	unreadRight = "unread counts and lists of threads are right"
	removedOut  = "a removed member is unsubscribed, and gets nothing more"
	updatesOnce = "no device gets an update of a thread twice or out of order"
)

// checks collects what was examined and what was wrong.
type checks struct {
	mu   sync.Mutex
	list []*audit.Check
}

func newChecks() *checks {
	c := &checks{}
	for _, name := range []string{storedOnce, gotOnce, recoverTrue, unreadRight, removedOut, updatesOnce} {
		c.list = append(c.list, &audit.Check{Name: name})
	}
	return c
}

// examine counts things that a check has looked at.
func (c *checks) examine(name string, n int) { c.with(name, func(k *audit.Check) { k.Examined += n }) }

func (c *checks) violate(name, format string, args ...any) {
	c.with(name, func(k *audit.Check) { k.Violate(format, args...) })
}

func (c *checks) with(name string, do func(*audit.Check)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.list {
		if k.Name == name {
			do(k)
		}
	}
}

func (c *checks) violations() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.list {
		n += k.Violations
	}
	return n
}

// record is what is known of a thread: what senders were answered and what subscribers saw must agree.
type record struct {
	id     string
	checks *checks

	mu    sync.RWMutex
	texts map[int64]string // content by id
	ids   map[string]int64 // and back
	acked map[int64]bool
	read  map[uint32]span // how far each user has read
	last  int64           // newest id that anybody saw
}

// span is a number between two bounds.
type span struct{ least, most int64 }

func newRecord(id string, c *checks) *record {
	return &record{id: id, checks: c, texts: map[int64]string{}, ids: map[string]int64{},
		acked: map[int64]bool{}, read: map[uint32]span{}}
}

// saw notes a message that somebody was shown.
func (r *record) saw(m *message) {
	r.mu.RLock()
	known, found := r.texts[m.ID]
	r.mu.RUnlock()
	if found && known == m.Content {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, found = r.texts[m.ID]; found && known != m.Content {
		r.checks.violate(storedOnce, "message %d of %s is %q and %q", m.ID, r.id, known, m.Content)
		return
	}
	if other, twice := r.ids[m.Content]; twice && other != m.ID {
		r.checks.violate(storedOnce, "%q is message %d and message %d of %s", m.Content, other, m.ID, r.id)
	}
	r.texts[m.ID], r.ids[m.Content] = m.Content, m.ID
	r.last = max(r.last, m.ID)
	r.atLeast(m.User, span{m.ID, m.ID}) // a sender has read up to the own message
}

// acknowledged notes a message that its sender was told is stored.
func (r *record) acknowledged(m *message) {
	r.saw(m)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acked[m.ID] = true
}

// readUpTo notes that a user has read, or has joined, at a position.
func (r *record) readUpTo(user uint32, at span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.atLeast(user, at)
}

func (r *record) atLeast(user uint32, at span) {
	before := r.read[user]
	r.read[user] = span{max(before.least, at.least), max(before.most, at.most)}
}

// newest is the newest id that anybody saw.
func (r *record) newest() int64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.last
}

// unread are the bounds of a user's count.
func (r *record) unread(user uint32) span {
	r.mu.RLock()
	defer r.mu.RUnlock()
	at := r.read[user]
	return span{r.last - at.most, r.last - at.least}
}

// compare compares the thread with what is stored; the list may begin late.
func (r *record) compare(stored []message) {
	for i := range stored {
		r.saw(&stored[i])
		if i > 0 && stored[i].ID != stored[i-1].ID+1 {
			r.checks.violate(storedOnce, "in %s message %d follows %d", r.id, stored[i].ID, stored[i-1].ID)
		}
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	last := int64(0)
	if len(stored) > 0 {
		last = stored[len(stored)-1].ID
	}
	for id := range r.acked {
		if id > last {
			r.checks.violate(storedOnce, "message %d of %s was acknowledged and is not stored", id, r.id)
		}
	}
	r.checks.examine(storedOnce, len(r.acked))
}

// journal is what one device saw of a thread.
type journal struct {
	record *record
	owner  string // for violations

	mu      sync.Mutex
	begun   bool
	last    int64 // id of the newest message seen
	got     int
	removed int64 // Unix nanoseconds of the end of the membership, 0 for a member
	ended   bool  // the device was closed
}

// subscribed notes an answer to a subscription; position is the thread's newest id then. If the device has
// missed messages, they begin after the returned id.
func (j *journal) subscribed(recovering, recovered bool, position int64) (after int64, missed bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.begun {
		j.begun, j.last = true, position
		return 0, false
	}
	j.record.checks.examine(recoverTrue, 1)
	if !recovering {
		j.record.checks.violate(recoverTrue, "%s came back to %s and did not ask to be recovered", j.owner,
			j.record.id)
	}
	if recovered {
		return 0, false
	}
	after, j.last = j.last, position
	return after, true
}

// published notes a message; sent is when its sender sent it, in Unix nanoseconds.
func (j *journal) published(m *message, sent int64) {
	j.record.saw(m)
	j.mu.Lock()
	defer j.mu.Unlock()
	c := j.record.checks
	if j.removed != 0 && sent > j.removed {
		c.violate(removedOut, "%s got message %d of %s, which was sent after the removal", j.owner, m.ID,
			j.record.id)
	}
	switch {
	case m.ID <= j.last:
		c.violate(gotOnce, "%s got message %d of %s after %d", j.owner, m.ID, j.record.id, j.last)
		return
	case m.ID > j.last+1:
		c.violate(gotOnce, "%s got message %d of %s after %d", j.owner, m.ID, j.record.id, j.last)
	}
	j.last = m.ID
	j.got++
}

// caughtUp notes what a thread still has after the id where a device was not recovered.
func (j *journal) caughtUp(after int64, stored []message) {
	if len(stored) == 0 || stored[0].ID == after+1 {
		j.record.checks.violate(recoverTrue, "%s was not recovered from %d of %s, but nothing is gone", j.owner,
			after, j.record.id)
	}
	for i := range stored {
		j.record.saw(&stored[i])
	}
}

// left notes that the user is no longer a member since a moment.
func (j *journal) left(since int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.removed = since
}

// end notes that the device is closed: it need not get the rest.
func (j *journal) end() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended = true
}

// complete reports whether the device has everything that it should have got.
func (j *journal) complete() bool {
	newest := j.record.newest()
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ended || j.removed != 0 || j.begun && j.last >= newest
}

// judge is called once, at the end.
func (j *journal) judge() {
	newest := j.record.newest()
	whole := j.complete()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.record.checks.examine(gotOnce, j.got)
	if !whole {
		j.record.checks.violate(gotOnce, "%s got %s up to %d, but message %d is stored", j.owner, j.record.id,
			j.last, newest)
	}
}
