// Package traffic counts what happens, by key and minute, and keeps the counts for years: calls of the
// server, foods, and any key that other programs name.
//
// A Traffic belongs to each process that serves requests. It counts in memory and flushes to Redis; every
// hit is flushed once, or never where its process is killed. One Keeper in each server adds up old buckets
// into longer ones (Tier). Counts are sums and are never estimated.
//
// It must not know HTTP, nor the sale. It is slow where a query reads years of minutes: a retention without
// longer steps.
package traffic

import (
	"context"
	"crypto/rand"
	"errors"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"flashsale/internal/background"
	"flashsale/internal/logpace"
	"flashsale/internal/observe/figures"
	"flashsale/redisx/pipeline"
)

const (
	// flushInterval divides a minute, so that all hits between two flushes belong to one minute.
	flushInterval = 15 * time.Second
	// The last flush has what is left until EndBy, but no longer than stopMax, and stopLeast in any case.
	stopMax   = 3 * time.Second
	stopLeast = 500 * time.Millisecond
	stopRetry = 20 * time.Millisecond

	keyBytesMax = 128
	hitMax      = 1_000_000_000   // of one Count
	sumMax      = 1<<53 - 1       // of a bucket, see hits.lua: more hits are not counted
	future      = 2 * time.Minute // that another program's clock may be ahead: such hits are of now
)

var (
	// ErrBadKey is the error for a key that is empty, too long or no text.
	ErrBadKey = errors.New("wrong key of traffic")
	// ErrBadRange is the error for a query that cannot be read, or asks for too many points.
	ErrBadRange = errors.New("wrong range of traffic")
	// ErrNoKey is the error for a key that has no hits.
	ErrNoKey = errors.New("no such key of traffic")
)

// Config is the same on all servers of one Redis.
type Config struct {
	Redis   pipeline.Config
	Sale    string // its pieces are counted as sold
	Tiers   []Tier
	Zone    *time.Location // of days, weeks, months and years
	KeysMax int            // hits of further keys are counted under the key "other"

	// Dropped counts hits that were dropped: too many keys and minutes waited for Redis, or some still waited
	// at the end. It may be nil.
	Dropped *figures.Counter

	// Now is the clock, also in place of the clock of Redis. nil: each has its own.
	Now func() time.Time
}

// Traffic counts in one process. Its methods are safe for concurrent use.
type Traffic struct {
	cfg    Config
	layout *layout
	redis  *pipeline.Conn
	now    func() time.Time // for hits; queries use the clock of Redis

	counters []*Counters
	shards   [shardCount]shard
	seed     maphash.Seed
	sold     sold
	flusher  flusher
	endBy    time.Time // zero without a limit

	droppedLines logpace.Pace
}

// New makes a Traffic. Run must run.
func New(cfg Config) *Traffic {
	t := &Traffic{cfg: cfg, now: cfg.Now, layout: newLayout(cfg.Tiers, cfg.Zone), seed: maphash.MakeSeed()}
	if t.now == nil {
		t.now = time.Now
	}
	if t.cfg.Dropped == nil {
		t.cfg.Dropped = &figures.Counter{}
	}
	t.flusher = flusher{process: rand.Text(), waiting: map[entry]int64{}}
	t.redis = pipeline.New(cfg.Redis, pipeline.Options{
		Scripts: []*pipeline.Script{flushScript, soldScript, rollScript, forgetScript},
		Outage: &pipeline.Outage{Effect: "statistics wait in memory, and their queries get 503",
			Over: "statistics are written again"},
	})
	return t
}

// EndBy sets when Run is to return. It must be called before Run's context ends.
func (t *Traffic) EndBy(end time.Time) {
	if t != nil {
		t.endBy = end
	}
}

// Run flushes until ctx ends, and once more after that, as far as the time allows. It returns nil.
func (t *Traffic) Run(ctx context.Context) error {
	connected, disconnect := context.WithCancel(context.WithoutCancel(ctx))
	var redis sync.WaitGroup
	redis.Go(func() { _ = t.redis.Run(connected) }) // it returns nil
	limit, stop := context.WithCancel(connected)
	defer stop()
	// The time runs from the end of ctx on: a flush may be under way then.
	context.AfterFunc(ctx, func() { time.AfterFunc(t.stopTime(), stop) })
	t.flusher.over = limit.Done()
	t.collectUntil(ctx, func() { t.flush() })
	for !t.flush() && background.Pause(limit, stopRetry) { // Redis may have been restarted since the last flush
	}
	t.dropRest()
	late := limit.Err() != nil
	disconnect()
	if !late { // else Redis may still owe a reply
		redis.Wait()
	}
	return nil
}

// stopTime is the time for the last flush.
func (t *Traffic) stopTime() time.Duration {
	if t.endBy.IsZero() {
		return stopMax
	}
	return max(stopLeast, min(stopMax, time.Until(t.endBy)))
}

// collectUntil collects at the flush intervals of the clock, and once more when ctx has ended; flush follows
// each time but the last.
func (t *Traffic) collectUntil(ctx context.Context, flush func()) {
	begun := t.now()
	for {
		now := t.now()
		goesOn := background.Pause(ctx, now.Truncate(flushInterval).Add(flushInterval).Sub(now))
		t.collect(begun)
		if !goesOn {
			return
		}
		begun = t.now()
		flush()
	}
}

// Counters count hits of keys that are known at the start. nil counts nothing.
type Counters struct {
	keys []string
	hits []atomic.Int64
}

// Counters makes counters for keys. It must be called before Run.
func (t *Traffic) Counters(keys []string) *Counters {
	if t == nil {
		return nil
	}
	c := &Counters{keys, make([]atomic.Int64, len(keys))}
	t.counters = append(t.counters, c)
	return c
}

// Add counts n hits of key i, n > 0. It takes no lock and does not allocate: the hot calls of a worker run
// on one thread, so the processes are the shards of a counter.
func (c *Counters) Add(i int, n int64) {
	if c != nil {
		c.hits[i].Add(n)
	}
}

// Len is the number of its keys.
func (c *Counters) Len() int { return len(c.keys) }

// entry is hits that are one sum: of a key in a minute.
type entry struct {
	key    string
	minute int64 // Unix minutes
}

// Hit is n hits of a key that another program has counted.
type Hit struct {
	Key string
	N   int64
	At  time.Time // zero for now
}

// check returns ErrBadKey or ErrBadRange for a wrong hit.
func (h Hit) check(now time.Time) error {
	switch {
	case h.Key == "" || len(h.Key) > keyBytesMax || !utf8.ValidString(h.Key) || !isPrintable(h.Key):
		return ErrBadKey
	case h.N < 1 || h.N > hitMax || h.At.Unix() < secondsPerDay || h.At.After(now.Add(future)):
		return ErrBadRange
	}
	return nil
}

func isPrintable(text string) bool {
	for _, c := range text {
		if unicode.IsControl(c) {
			return false
		}
	}
	return true
}

// Count counts all hits, or returns an error and counts no hit. They are in memory and are flushed later; a
// hit without room there is dropped. Errors: ErrBadKey, ErrBadRange.
func (t *Traffic) Count(hits []Hit) error {
	now := t.now()
	for i := range hits {
		if hits[i].At.IsZero() {
			hits[i].At = now
		}
		if err := hits[i].check(now); err != nil {
			return err
		}
		if hits[i].At.After(now) {
			hits[i].At = now
		}
	}
	for _, h := range hits {
		if !t.shard(h.Key).add(entry{h.Key, h.At.Unix() / 60}, h.N) {
			t.drop(h.N)
		}
	}
	return nil
}

const (
	shardCount = 16
	shardMax   = waitingMax / shardCount // keys and minutes between two flushes; a hit of another is dropped
)

// shard is some of the keys of other programs. The zero value is ready.
type shard struct {
	mu   sync.Mutex
	hits map[entry]int64
}

func (t *Traffic) shard(key string) *shard {
	return &t.shards[maphash.String(t.seed, key)%shardCount]
}

// add reports whether there was room for the hits.
func (s *shard) add(e entry, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hits == nil {
		s.hits = map[entry]int64{}
	}
	return sumUp(s.hits, e, n, shardMax)
}

// sumUp adds n to the hits of an entry. It reports false if the entry is new and there are most entries.
func sumUp(hits map[entry]int64, e entry, n int64, most int) bool {
	if _, known := hits[e]; !known && len(hits) >= most {
		return false
	}
	hits[e] = min(hits[e]+n, sumMax)
	return true
}

// take returns all hits and begins anew.
func (s *shard) take() map[entry]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	hits := s.hits
	s.hits = nil
	return hits
}
