package main

import (
	"context"
	"strconv"
	"time"

	"flashsale/internal/testkit"
)

const (
	settleMax   = time.Minute // after the last message: until everything has arrived
	storedPage  = 100
	storedPages = 9 // of a thread, compared at the end: Redis may trim what is older meanwhile
)

// settle waits until everything has arrived, and makes the checks of the end.
func (c *crowd) settle(ctx context.Context) {
	_ = c.each(len(c.records), func(i int) error { // it returns no error
		r := c.records[i]
		p := c.people[i*max(c.members, 1)]
		stored, err := p.stored(ctx, r.id, c.whole)
		if err != nil {
			c.checks.violate(storedOnce, "thread %s cannot be read: %v", r.id, err)
			return nil
		}
		if c.whole && len(stored) > 0 && stored[0].ID != 1 {
			c.checks.violate(storedOnce, "thread %s begins with message %d", r.id, stored[0].ID)
		}
		r.compare(stored)
		return nil
	})
	_ = testkit.Await(ctx, "", settleMax, func() bool { // judge tells what is missing
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, j := range c.journals {
			if !j.complete() {
				return false
			}
		}
		return true
	})
	for _, j := range c.journals {
		j.judge()
	}
	c.checks.examine(updatesOnce, int(c.updates.Load()))
	if c.members > 0 {
		c.compareLists(ctx)
	}
	for _, p := range c.people {
		for _, d := range p.devices {
			d.client.Close()
		}
		p.hangUp()
	}
}

// stored reads the newest messages of a thread, or the whole thread.
func (p *person) stored(ctx context.Context, id string, whole bool) (list []message, err error) {
	ctx, cancel := context.WithTimeout(ctx, settleMax)
	defer cancel()
	before := ""
	for n := 0; whole || n < storedPages; n++ {
		page, _, err := p.messages(ctx, id, "limit="+strconv.Itoa(storedPage)+before)
		if err != nil || len(page) == 0 {
			return list, err
		}
		list = append(page, list...)
		before = "&before=" + strconv.FormatInt(page[0].ID, 10)
	}
	return list, nil
}

// compareLists compares what GET /threads shows each user with what was read and written.
func (c *crowd) compareLists(ctx context.Context) {
	_ = c.each(len(c.people), func(i int) error { // it returns no error
		p := c.people[i]
		var shown thread
		want := p.record.unread(p.user)
		right := func() bool {
			list, _, err := p.threads(ctx, "limit=100")
			if err != nil {
				return false
			}
			for _, t := range list {
				if t.ID == p.record.id {
					shown = t
				}
			}
			return shown.Last == p.record.newest() && want.least <= shown.Unread && shown.Unread <= want.most
		}
		if testkit.Await(ctx, "", settleMax, right) != nil {
			c.checks.violate(unreadRight, "user %d has %d unread of %d in %s, want %d to %d of %d", p.user,
				shown.Unread, shown.Last, p.record.id, want.least, want.most, p.record.newest())
		}
		c.checks.examine(unreadRight, 1)
		return nil
	})
}
