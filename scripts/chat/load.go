package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"flashsale/internal/background"
)

const (
	sendMax    = 30 * time.Second // until the outcome of a message is left open
	latencyMax = int64(time.Minute / time.Microsecond)
	shards     = 16 // of the histograms
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
