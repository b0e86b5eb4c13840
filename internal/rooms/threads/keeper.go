package threads

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"flashsale/internal/background"
	"flashsale/internal/logpace"
	"flashsale/redisx/pipeline"
)

const (
	leaseLength   = 10 * time.Second
	leaseLook     = time.Second            // between two looks at the leases
	keeperRest    = 100 * time.Millisecond // between two reads: several entries are followed together
	keeperEntries = 100                    // of a part, in one read
	otherPause    = 2 * time.Second        // while another keeper has the parts
	faultPause    = time.Second
	followedStay  = time.Minute // entries in the log, for those who tail it
)

// Keeper does the work behind the Threads of all processes. A server needs one. Keepers share the parts by
// leases, but two of them on one part do no harm: every step may be repeated, and follow.lua does what an
// entry asks for exactly once.
type Keeper struct {
	cfg   Config
	name  string
	redis *pipeline.Spread

	failing logpace.Pace
	killed  func() bool // for tests: the keeper ends before this call
}

// NewKeeper makes a Keeper.
func NewKeeper(cfg Config) *Keeper {
	return &Keeper{cfg: cfg, name: rand.Text(), redis: pipeline.NewSpread(cfg.Redis, pipeline.Options{
		Scripts: []*pipeline.Script{followScript, holdScript, trimScript},
		Outage:  &pipeline.Outage{Effect: "lists of threads do not follow new messages"},
	})}
}

// Run works until ctx ends, and returns nil then.
func (k *Keeper) Run(ctx context.Context) error {
	background.Beside(k.redis.Run, func() {
		var all sync.WaitGroup
		for i, address := range k.cfg.Redis {
			w := k.ward(address, partsOf(i, len(k.cfg.Redis))...)
			all.Go(func() {
				defer w.logs.close()
				background.Repeat(ctx, func() time.Duration { return w.rest(w.watch(ctx)) })
			})
			all.Go(func() { // beside it: an archive that does not answer must not hold up the lists
				background.Repeat(ctx, func() time.Duration { return w.rest(w.tidy()) })
			})
		}
		all.Wait()
	})
	return nil
}

// ward is the parts of one Redis, and what a Keeper knows of them.
type ward struct {
	*Keeper
	parts []int
	logs  reader
	held  []int     // parts that the keeper has
	from  Positions // up to which it has followed their logs; 0 of other parts
}

func (k *Keeper) ward(redis pipeline.Config, parts ...int) *ward {
	return &ward{Keeper: k, parts: parts, logs: reader{address: redis}}
}

// rest logs an error, and returns the pause before the next step.
func (w *ward) rest(pause time.Duration, err error) time.Duration {
	if err == nil {
		return pause
	}
	if w.redis.Part(w.parts[0]).Up() { // else the connection logs that Redis is away
		if n := w.failing.Due(time.Now()); n > 0 {
			slog.Warn("the keeper of the conversations cannot work; it tries again", "faults", n, "error", err)
		}
	}
	return faultPause
}

// watch follows the logs until the leases must be looked at again. It returns the pause before that.
func (w *ward) watch(ctx context.Context) (pause time.Duration, err error) {
	if err := w.hold(); err != nil {
		return 0, err
	}
	if len(w.held) == 0 {
		return otherPause, nil
	}
	for end := time.Now().Add(leaseLook); time.Now().Before(end); {
		busy, err := w.follow(ctx, time.Until(end))
		if ctx.Err() != nil {
			return 0, nil
		}
		if err != nil {
			w.from = Positions{} // what Redis has noted counts: it may have lost its newest data
			return 0, err
		}
		if !busy {
			background.Pause(ctx, keeperRest)
		}
	}
	return 0, nil
}

// hold takes or keeps the leases, and notes how far the logs were followed.
func (w *ward) hold() error {
	leases, err := w.lease(w.parts, &w.from)
	w.held, w.from = nil, Positions{}
	for _, l := range leases {
		if l.held {
			w.held = append(w.held, l.part)
			w.from[l.part] = l.done
		}
	}
	return err
}

// lease is the reply of hold.lua.
type lease struct {
	part int
	held bool
	done int64 // the log was followed up to here
	now  time.Time
	due  []string // threads to trim
}

// lease takes or keeps the leases of parts. upto are the positions up to which their logs were followed, 0
// for unknown.
func (k *Keeper) lease(parts []int, upto *Positions) (list []lease, err error) {
	replies := make([][]string, len(parts))
	var all errgroup.Group
	for i, part := range parts {
		position := ""
		if upto[part] > 0 {
			position = strconv.FormatInt(upto[part], 10)
		}
		keys := []string{partKey(part, "lease"), partKey(part, "state"), partKey(part, "log"),
			partKey(part, "trim")}
		k.together(&all, part, holdScript.Call(&replies[i], keys, k.name,
			strconv.FormatInt(leaseLength.Milliseconds(), 10), position,
			strconv.FormatInt(followedStay.Milliseconds(), 10), k.cfg.now(), strconv.Itoa(trimThreads)))
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	for i, r := range replies {
		list = append(list, lease{parts[i], r[0] == "1", number(r[1]), milli(r[2]), r[3:]})
	}
	return list, nil
}

// do sends a call to a part.
func (k *Keeper) do(part int, x *pipeline.Call) error {
	if k.isKilled() {
		return context.Canceled
	}
	return k.redis.Part(part).Do(x)
}

// together sends a call to a part without waiting for the answer, which the group does.
func (k *Keeper) together(all *errgroup.Group, part int, x *pipeline.Call) {
	killed := k.isKilled()
	all.Go(func() error {
		if killed {
			return context.Canceled
		}
		return k.redis.Part(part).Do(x)
	})
}

// read makes calls that read.
func (k *Keeper) read(calls *pipeline.Calls) error {
	if k.isKilled() {
		return context.Canceled
	}
	return calls.Do()
}

func (k *Keeper) isKilled() bool { return k.killed != nil && k.killed() }
