package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/centrifugal/centrifuge-go"

	"flashsale/internal/background"
	"flashsale/internal/testkit"
)

const (
	changePause   = 300 * time.Millisecond // between two changes of members or devices
	unsubscribing = 30 * time.Second       // a removed member's device must know within this time
)

// device is a connection of a user, with what it saw.
type device struct {
	client  *centrifuge.Client
	sub     *centrifuge.Subscription
	journal *journal
	cancel  context.CancelFunc // of the heartbeats
}

func (j *journal) hasBegun() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.begun
}

// connect makes a device of a user and subscribes it to the user's thread.
func (c *crowd) connect(ctx context.Context, p *person) (*device, error) {
	d := &device{client: p.socket(c.urls)}
	seen := map[string]int64{} // newest update of each thread; one goroutine calls the handlers of a client
	d.client.OnPublication(func(e centrifuge.ServerPublicationEvent) {
		var told event
		if json.Unmarshal(e.Data, &told) != nil || told.Message == nil {
			return
		}
		m := told.Message
		c.updates.Add(1)
		if m.ID <= seen[m.Thread] {
			c.checks.violate(updatesOnce, "user %d got the update of message %d of %s after %d", p.user, m.ID,
				m.Thread, seen[m.Thread])
		}
		seen[m.Thread] = m.ID
	})
	if err := c.subscribe(p, d); err != nil {
		return nil, err
	}
	_ = d.client.Connect() // after an error it tries again by itself
	beating, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d.cancel = cancel
	if c.beat > 0 {
		go func() {
			background.Pause(beating, rand.N(c.beat))
			beat(beating, d.client, c.beat, func(err error) {
				c.beats.Add(1)
				if err != nil {
					c.lostBeats.Add(1)
				}
			})
		}()
	}
	return d, nil
}

// subscribe begins a new journal of the user's thread on a device.
func (c *crowd) subscribe(p *person, d *device) error {
	j := &journal{record: p.record, owner: fmt.Sprint("user ", p.user)}
	sub, err := d.client.NewSubscription(threadChannel(p.record.id))
	if err != nil {
		return err
	}
	sub.OnSubscribed(func(e centrifuge.SubscribedEvent) {
		position := int64(0)
		if e.StreamPosition != nil {
			position = int64(e.StreamPosition.Offset)
		}
		after, missed := j.subscribed(e.WasRecovering, e.Recovered, position)
		if e.Recovered {
			c.recovered.Add(1)
		}
		if missed {
			c.unrecovered.Add(1)
			go c.catchUp(p, j, after)
		}
	})
	times := &c.arriving[int(p.user)%shards]
	sub.OnPublication(func(e centrifuge.PublicationEvent) {
		if e.Offset == 0 { // a change of the thread that is no message
			return
		}
		var m message
		if err := json.Unmarshal(e.Data, &m); err != nil || m.ID != int64(e.Offset) {
			c.checks.violate(gotOnce, "the publication %d of %s is %s", e.Offset, p.record.id, e.Data)
			return
		}
		sent := sentAt(m.Content)
		j.published(&m, sent)
		c.delivered.Add(1)
		times.Lock()
		defer times.Unlock()
		_ = times.times.RecordValue(min(max((time.Now().UnixNano()-sent)/1000, 1), latencyMax)) // in range
	})
	d.sub, d.journal = sub, j
	c.mu.Lock()
	c.journals = append(c.journals, j)
	c.mu.Unlock()
	return sub.Subscribe()
}

// catchUp reads what a device was told that it has missed.
func (c *crowd) catchUp(p *person, j *journal, after int64) {
	ctx, cancel := context.WithTimeout(context.Background(), sendMax)
	defer cancel()
	list, _, err := p.messages(ctx, p.record.id, "limit=100&after="+strconv.FormatInt(after, 10))
	if err != nil {
		c.checks.violate(recoverTrue, "the messages of %s after %d cannot be read: %v", p.record.id, after, err)
		return
	}
	j.caughtUp(after, list)
}

// content makes the text of a message, which no other message has.
func content(user uint32, n int, now time.Time) string {
	return fmt.Sprintf("message %d of user %d at %d", n, user, now.UnixNano())
}

// sentAt is when a text was made, in Unix nanoseconds.
func sentAt(content string) int64 {
	n, _ := strconv.ParseInt(content[strings.LastIndexByte(content, ' ')+1:], 10, 64) // 0 for another text
	return n
}

// speak sends messages of a user, one after the other, until ctx ends.
func (c *crowd) speak(ctx, all context.Context, p *person, pause time.Duration) {
	next := time.Now()
	for n := 1; ctx.Err() == nil; n++ {
		now := time.Now()
		text := content(p.user, n, now)
		sending, cancel := context.WithTimeout(all, sendMax)
		m, err := p.post(sending, p.record.id, strconv.FormatInt(now.UnixNano(), 36), text)
		cancel()
		switch {
		case err == nil:
			if m.Content != text || m.User != p.user {
				c.checks.violate(storedOnce, "%q of user %d was answered as %q of user %d", text, p.user, m.Content,
					m.User)
			}
			p.record.acknowledged(&m)
			c.stored.Add(1)
			c.mu.Lock()
			_ = c.storing.RecordValue(min(max(time.Since(now).Microseconds(), 1), latencyMax)) // in range
			c.mu.Unlock()
		case refused(err):
			c.mu.Lock()
			c.refused[err.Error()]++
			c.mu.Unlock()
			background.Pause(ctx, retryMost)
		default:
			c.unknown.Add(1)
		}
		if pause > 0 {
			if next = next.Add(pause); time.Until(next) < -pause { // what a fault has delayed is left out
				next = time.Now()
			}
			background.Pause(ctx, time.Until(next))
		}
	}
}

// readSome lets users mark their threads as read, now and then.
func (c *crowd) readSome(ctx, all context.Context) {
	for background.Pause(ctx, changePause) {
		p := c.people[rand.IntN(len(c.people))]
		reading, cancel := context.WithTimeout(all, sendMax)
		_ = p.readAll(reading, p.record.newest()) // its outcome stays open
		cancel()
	}
}

// changeMembers removes members who do not write, and adds them again.
func (c *crowd) changeMembers(ctx, all context.Context) {
	for background.Pause(ctx, changePause) {
		p := c.people[rand.IntN(len(c.people))]
		if p.index < 2 {
			continue
		}
		changing, cancel := context.WithTimeout(all, sendMax)
		c.changing.Lock()
		if err := c.removeAndAdd(changing, p); err != nil {
			c.checks.violate(removedOut, "user %d of %s: %v", p.user, p.record.id, err)
		}
		c.changing.Unlock()
		cancel()
	}
}

// ownerOf is the owner of a user's group.
func (c *crowd) ownerOf(p *person) *person {
	for _, other := range c.people {
		if other.record == p.record && other.owner {
			return other
		}
	}
	return nil
}

// removeAndAdd removes a member while connected, and adds the user again.
func (c *crowd) removeAndAdd(ctx context.Context, p *person) error {
	owner, path := c.ownerOf(p), "/threads/"+p.record.id+"/members/"+strconv.FormatUint(uint64(p.user), 10)
	if err := owner.insist(ctx, "DELETE", path, "", nil); err != nil {
		return fmt.Errorf("cannot be removed: %w", err)
	}
	now := time.Now().UnixNano()
	for _, d := range p.devices {
		d.journal.left(now)
	}
	c.checks.examine(removedOut, 1)
	if err := testkit.Await(ctx, "end of the subscription", unsubscribing, func() bool {
		for _, d := range p.devices {
			if d.sub.State() != centrifuge.SubStateUnsubscribed {
				return false
			}
		}
		return true
	}); err != nil {
		c.checks.violate(removedOut, "user %d is still subscribed to %s", p.user, p.record.id)
	}
	background.Pause(ctx, changePause)
	least := p.record.newest() // the user joins behind it
	if err := owner.insist(ctx, "PUT", path, "", nil); err != nil {
		return fmt.Errorf("cannot be added again: %w", err)
	}
	p.record.readUpTo(p.user, span{least, math.MaxInt64})
	for _, d := range p.devices {
		_ = d.sub.Unsubscribe() // it may be unsubscribed already
		if err := d.client.RemoveSubscription(d.sub); err != nil {
			return err
		}
		if err := c.subscribe(p, d); err != nil {
			return err
		}
	}
	return nil
}

// closeDevices closes devices of users who have others, and opens them again.
func (c *crowd) closeDevices(ctx, all context.Context) {
	for background.Pause(ctx, changePause) {
		c.changing.Lock()
		p := c.people[rand.IntN(len(c.people))]
		if err := c.closeAndOpen(all, p, len(p.devices)-1); err != nil {
			c.checks.violate(gotOnce, "user %d cannot connect again: %v", p.user, err)
		}
		c.changing.Unlock()
	}
}

// closeAndOpen closes a device of a user, and opens another in its place.
func (c *crowd) closeAndOpen(ctx context.Context, p *person, which int) error {
	d := p.devices[which]
	d.journal.end()
	d.cancel()
	d.client.Close()
	background.Pause(ctx, changePause)
	next, err := c.connect(ctx, p)
	if err == nil { // else the closed one stays in its place
		p.devices[which] = next
	}
	return err
}
