package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/internal/testkit"
)

const (
	loginsAtOnce = 16
	startMax     = 2 * time.Minute // until all are connected
)

// gather logs the users in, starts their threads and connects their devices.
func (c *crowd) gather(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startMax)
	defer cancel()
	c.people = make([]*person, c.users)
	if err := c.each(len(c.people), func(i int) error {
		id := c.first + i
		c.people[i] = &person{session: newSession(c.servers, i)}
		c.people[i].http.NewConnections = i >= c.speakers // of many listeners none may stay open
		return c.people[i].login(ctx, fmt.Sprint("user", id), fmt.Sprint("pass", id), false)
	}); err != nil {
		return fmt.Errorf("cannot log in: %w", err)
	}
	if err := c.meet(ctx); err != nil {
		return fmt.Errorf("cannot start the threads: %w", err)
	}
	if c.devices == 0 {
		return nil
	}
	var err error
	if c.urls, err = pushURLs(c.servers, c.people[0].http.Token); err != nil {
		return err
	}
	pause := time.Second / time.Duration(c.ramp)
	for _, p := range c.people {
		for range c.devices {
			d, err := c.connect(ctx, p)
			if err != nil {
				return err
			}
			p.devices = append(p.devices, d)
			time.Sleep(pause)
		}
	}
	return testkit.Await(ctx, "subscription of every device", startMax, func() bool {
		for _, p := range c.people {
			for _, d := range p.devices {
				if !d.journal.hasBegun() {
					return false
				}
			}
		}
		return true
	})
}

// each runs a step for n things, some at once, and returns its first error.
func (c *crowd) each(n int, step func(i int) error) error {
	var all sync.WaitGroup
	var next atomic.Int64
	failed := make(chan error, loginsAtOnce)
	for range loginsAtOnce {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := step(i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// meet starts the threads: the room, or groups of members users each. The last one may be smaller.
func (c *crowd) meet(ctx context.Context) error {
	if c.members == 0 {
		id, err := c.people[0].roomID(ctx)
		r := newRecord(id, c.checks)
		c.records = []*record{r}
		for i, p := range c.people {
			p.record, p.index = r, i
		}
		return err
	}
	groups := c.users / c.members
	c.people = c.people[:groups*c.members]
	c.records = make([]*record, groups)
	run := strconv.FormatInt(time.Now().UnixNano(), 36)
	return c.each(groups, func(g int) error {
		group := c.people[g*c.members : (g+1)*c.members]
		ids := make([]string, 0, c.members)
		for _, p := range group[1:] {
			ids = append(ids, strconv.FormatUint(uint64(p.user), 10))
		}
		body := `{"participants":[` + strings.Join(ids, ",") + `]`
		if c.members > 2 {
			body += `,"group":true,"history":true,"key":"` + run + `"`
		}
		var t thread
		if err := group[0].insist(ctx, "POST", "/threads", body+"}", &t); err != nil {
			return err
		}
		r := newRecord(t.ID, c.checks)
		r.last = t.Last
		c.records[g] = r
		for i, p := range group { // the thread of a pair may be there from before
			p.record, p.owner, p.index = r, i == 0, i
			if t.Last > 0 {
				if err := p.readAll(ctx, t.Last); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// readAll marks a thread as read up to a message.
func (p *person) readAll(ctx context.Context, last int64) error {
	if last == 0 {
		return nil
	}
	body := fmt.Sprintf(`{"read":%d}`, last)
	p.record.readUpTo(p.user, span{0, last}) // as soon as it is sent
	err := p.insist(ctx, "PATCH", "/threads/"+p.record.id, body, nil)
	if err == nil {
		p.record.readUpTo(p.user, span{last, last})
	}
	return err
}
