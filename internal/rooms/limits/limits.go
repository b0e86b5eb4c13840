// Package limits decides how often something may happen: failed logins of a name, orders of a user, calls
// from an address, or any event of another program that asks over HTTP.
//
// Rules name an event, a feature and rates. One script of Redis checks all rates of a call, and counts the
// call in all of them or in no rate. The events of this server never wait for Redis: the order path asks the
// memory of this process which values are refused (Refused), and events are counted afterwards (Record),
// whether the rates have room or not. So calls that are on their way to Redis pass although the rates are
// full: in each worker at most as many as the smallest rate has. They count.
//
// On the event loop only Refused and Record may be called. The package knows nothing of HTTP or of the sale.
// It is slow where a precise rate has counted calls in tens of thousands of seconds: once in a while their
// log is copied.
package limits

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/logpace"
	"flashsale/redisx/pipeline"
)

const (
	queueMax  = 4096        // calls that wait to be counted, and as many failed logins; the next is not counted
	counters  = 32          // goroutines that count
	watchPace = time.Second // between two questions about changes outside of this process, see watch
)

var (
	// ErrNoRule is the error for a call that no rule is for.
	ErrNoRule = errors.New("no rule is for this event and these features")
	// ErrBadValue is the error for a feature that is unknown, or a value that its feature cannot have.
	ErrBadValue = errors.New("wrong feature")
	// ErrNeverFits is the error for a call that costs more than a window may have of a rate.
	ErrNeverFits = errors.New("the call costs more than the rate's limit")
)

// Config is what a Limiter needs.
type Config struct {
	Redis pipeline.Config
	Rules []Rule // nil: the room is off

	Secret    []byte // the same on all servers: no client can find out which addresses share a slot
	Users     int    // of the catalogue
	UserOf    func(name []byte) (user uint32, found bool)
	AdminFrom []netip.Prefix // guesses from elsewhere do not slow down logins from there
}

// Limiter is the rate limits of one process.
type Limiter struct {
	cfg     Config
	rules   atomic.Pointer[ruleset]
	conn    *pipeline.Conn
	queue   chan happened
	guesses chan happened // what anyone can send, failed logins and accounts, has a queue of its own
	dropped logpace.Pace
	shadow  logpace.Pace
	known   *known
	doubted chan uint32 // users who may have logged in from further networks by now
	losing  atomic.Bool // the last event was not counted; Redis may answer all the same

	at func() string // the first ARGV of the scripts: "" for the time of Redis, except in tests
}

// New makes a Limiter. Run must run.
func New(cfg Config) *Limiter {
	l := &Limiter{cfg: cfg, queue: make(chan happened, queueMax), guesses: make(chan happened, queueMax),
		doubted: make(chan uint32, doubtedMax), known: newKnown(cfg.Users), at: func() string { return "" }}
	l.Use(cfg.Rules)
	l.conn = pipeline.New(cfg.Redis, pipeline.Options{
		Scripts: []*pipeline.Script{decideScript, seatScript},
		Outage: &pipeline.Outage{Effect: "events are not counted for their rate limits",
			Over: "events are counted for their rate limits again"},
	})
	return l
}

// Use decides by other rules from now on, and forgets the refusals of the rules before. It is safe for
// concurrent use with all other methods.
func (l *Limiter) Use(rules []Rule) {
	s := newRuleset(rules)
	s.shareKeys(l.cfg.Secret)
	l.rules.Store(s)
}

// Off reports whether the room is off.
func (l *Limiter) Off() bool { return l.rules.Load().off }

// Run counts events until ctx has ended and no event waits any more. It returns nil.
func (l *Limiter) Run(ctx context.Context) error {
	background.Beside(l.conn.Run, func() {
		var counting sync.WaitGroup
		for range counters {
			counting.Go(func() { l.count(ctx) })
		}
		counting.Go(func() { l.watch(ctx) })
		counting.Wait()
		l.tellKnown()
		var pong string
		_ = l.conn.Do(pipeline.Command(&pong, "PING")) // its answer comes after all others; Redis may be away
	})
	return nil
}

// watch keeps the memories up to date: it drops refusals that have ended or were lifted by other processes,
// and finds out when events can be counted again.
func (l *Limiter) watch(ctx context.Context) {
	lifts := ""
	background.Every(ctx, watchPace, func() {
		l.sweep(time.Now())
		lifts = l.hearLifts(lifts)
		l.tellKnown()
		l.hearDoubted()
		l.probe()
	})
}

// probe writes to Redis once events are not counted: closed rules refuse until that succeeds.
func (l *Limiter) probe() {
	if !l.losing.Load() {
		return
	}
	var reply string
	if l.conn.Do(pipeline.Command(&reply, "SET", probeKey, "1", "EX", "60")) == nil {
		l.losing.Store(false)
	}
}

// sweep tidies up all memories.
func (l *Limiter) sweep(now time.Time) {
	for _, e := range l.rules.Load().events {
		for _, limit := range e.limits {
			limit.memory.sweep(now)
		}
	}
}

// noteShadow logs that a shadow rule would have refused.
func (l *Limiter) noteShadow(rate appliedRate, limit *limit) {
	if n := l.shadow.Due(time.Now()); n > 0 {
		slog.Info("a shadow rule would refuse", "event", limit.event, "feature", limit.feature,
			"rate", rate.String(), "calls", n)
	}
}
