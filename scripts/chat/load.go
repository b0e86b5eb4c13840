package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"flashsale/internal/background"
	"flashsale/internal/testkit"
)

const (
	loginsAtOnce = 16
	startMax     = 2 * time.Minute  // until all are connected
	settleMax    = time.Minute      // after the last message: until everything has arrived
	sendMax      = 30 * time.Second // until the outcome of a message is left open
	storedPage   = 100
	storedPages  = 9 // of a thread, compared at the end: Redis may trim what is older meanwhile
	latencyMax   = int64(time.Minute / time.Microsecond)
	shards       = 16 // of the histograms
)

// loadOptions are the flags of the load.
type loadOptions struct {
	servers  []string
	users    int
	first    int
	members  int // of each thread; 0: the room of the sale
	devices  int
	speakers int
	rate     float64
	length   time.Duration
	ramp     int
	beat     time.Duration
	churn    bool
	closing  bool
	whole    bool
	asJSON   bool
}

func parseLoad(args []string, out io.Writer) (*loadOptions, error) {
	o := &loadOptions{}
	var addresses string
	room := false
	fs := flag.NewFlagSet("chat load", flag.ContinueOnError)
	fs.StringVar(&addresses, "addr", "127.0.0.1:8080", "`host:port` of the servers, with commas between them")
	fs.IntVar(&o.users, "users", 100, "`users` who are connected")
	fs.IntVar(&o.first, "first", 2, "`id` of the first user, of the built-in catalogue")
	fs.IntVar(&o.members, "members", 2, "`members` of each thread, 2 to 200; 2 makes pairs")
	fs.BoolVar(&room, "room", false, "all users are in the room of the sale")
	fs.IntVar(&o.devices, "devices", 1, "`connections` of each user; 0: nobody listens")
	fs.IntVar(&o.speakers, "speakers", 64, "`users` who write, at most")
	fs.Float64Var(&o.rate, "rate", 100, "`messages` a second; 0: each speaker writes without a pause")
	fs.DurationVar(&o.length, "for", 10*time.Second, "`time` of the load; 0: until SIGINT")
	fs.IntVar(&o.ramp, "ramp", 500, "`connections` that begin in a second")
	fs.DurationVar(&o.beat, "heartbeat", heartbeatEvery, "`time` between two heartbeats of a connection; "+
		"0: none")
	fs.BoolVar(&o.churn, "churn", false, "members who do not write are removed and added again")
	fs.BoolVar(&o.closing, "closing", false, "devices after the first one are closed and come again")
	fs.BoolVar(&o.whole, "whole", false, "every thread must be readable from its first message on: the "+
		"servers have a database of older ones")
	fs.BoolVar(&o.asJSON, "json", false, "print the report as JSON")
	if err := parse(fs, args, out); err != nil {
		return nil, err
	}
	o.servers = strings.Split(addresses, ",")
	if room {
		o.members = 0
	}
	switch {
	case o.users < max(o.members, 1), min(o.first, o.ramp, o.speakers) < 1, o.devices < 0, o.rate < 0:
		return nil, fmt.Errorf("%w: too few -users, or a number below its least", errUsage)
	case !room && (o.members < 2 || o.members > 200):
		return nil, fmt.Errorf("%w: -members is 2 to 200", errUsage)
	case o.churn && o.members < 3:
		return nil, fmt.Errorf("%w: -churn needs -members 3 or more: nobody can be removed from a pair", errUsage)
	case o.closing && o.devices < 2:
		return nil, fmt.Errorf("%w: -closing needs -devices 2 or more", errUsage)
	}
	return o, nil
}

// person is a user of the load.
type person struct {
	*session
	record  *record
	owner   bool // of its group
	index   int  // in its group
	devices []*device
}

// crowd is a load under way.
type crowd struct {
	*loadOptions
	checks  *checks
	people  []*person
	records []*record
	urls    string

	unknown, beats, lostBeats, unrecovered, recovered atomic.Int64
	stored, delivered, updates                        atomic.Int64

	changing sync.Mutex // of members and devices
	mu       sync.Mutex
	refused  map[string]int
	journals []*journal

	storing  *hdrhistogram.Histogram // under mu; microseconds
	arriving [shards]arrivals
}

// arrivals are the times from send to receipt of some of the devices.
type arrivals struct {
	sync.Mutex
	times *hdrhistogram.Histogram // microseconds
}

func newTimes() *hdrhistogram.Histogram { return hdrhistogram.New(1, latencyMax, 3) }

func newCrowd(o *loadOptions) *crowd {
	c := &crowd{loadOptions: o, checks: newChecks(), refused: map[string]int{}, storing: newTimes()}
	for i := range c.arriving {
		c.arriving[i].times = newTimes()
	}
	return c
}

// run is the whole load.
func (c *crowd) run(ctx context.Context, out io.Writer) error {
	// A signal ends the load, not the checks after it.
	all, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	began := time.Now()
	if err := c.gather(all); err != nil {
		return err
	}
	started := time.Since(began)
	fmt.Fprintf(os.Stderr, "%d users are connected\n", len(c.people))
	talked := c.talk(ctx, all)
	c.settle(all)
	r := c.report(started, talked)
	if err := r.write(out, c.asJSON); err != nil {
		return err
	}
	if n := c.checks.violations(); n > 0 {
		return fmt.Errorf("%w: %d violations", errViolated, n)
	}
	if r.Acknowledged == 0 {
		return fmt.Errorf("%w: not one message was stored, which proves nothing", errUsage)
	}
	return nil
}

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

// talk lets the users write, read, leave and come until ctx ends or the time is over.
func (c *crowd) talk(ctx, all context.Context) time.Duration {
	if c.length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.length)
		defer cancel()
	}
	began := time.Now()
	var busy sync.WaitGroup
	var speakers []*person
	for _, p := range c.people {
		if len(speakers) < c.speakers && (!c.churn || p.index < 2) {
			speakers = append(speakers, p)
		}
	}
	pause := time.Duration(0)
	if c.rate > 0 {
		pause = time.Duration(float64(len(speakers)) / c.rate * float64(time.Second))
	}
	for i, p := range speakers {
		busy.Go(func() {
			background.Pause(ctx, pause*time.Duration(i)/time.Duration(len(speakers)))
			c.speak(ctx, all, p, pause)
		})
	}
	if c.members > 0 {
		busy.Go(func() { c.readSome(ctx, all) })
	}
	if c.churn {
		busy.Go(func() { c.changeMembers(ctx, all) })
	}
	if c.closing {
		busy.Go(func() { c.closeDevices(ctx, all) })
	}
	busy.Wait()
	return time.Since(began)
}

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
