package threads

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/internal/background"
	"flashsale/internal/logpace"
	"flashsale/redisx/pipeline"
)

const (
	leaseLength  = 10 * time.Second
	keeperRest   = 100 * time.Millisecond // when nothing is new
	tidyRest     = time.Second            // when nothing is to be trimmed
	otherPause   = 2 * time.Second        // while another keeper has the part
	followedStay = time.Minute            // entries in the log, for those who tail it
	keeperSteps  = 1000                   // of one run of follow.lua
	trimThreads  = 16                     // in one step
	trimMessages = 500                    // of each
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
		for part := range pipeline.Parts {
			all.Go(func() {
				background.Repeat(ctx, func() time.Duration { return k.work(part, k.step, keeperRest) })
			})
			all.Go(func() { // beside it: an archive that does not answer must not hold up the lists
				background.Repeat(ctx, func() time.Duration { return k.work(part, k.tidy, tidyRest) })
			})
		}
		all.Wait()
	})
	return nil
}

// work makes a step in a part and returns the pause until the next one, at most rest.
func (k *Keeper) work(
	part int, step func(int) (busy, held bool, err error), rest time.Duration,
) time.Duration {
	busy, held, err := step(part)
	switch {
	case err != nil:
		if !k.redis.Part(part).Up() { // the connection logs that Redis is away
			return time.Second
		}
		if n := k.failing.Due(time.Now()); n > 0 {
			slog.Warn("the keeper of the conversations cannot work; it tries again", "faults", n, "error", err)
		}
		return time.Second
	case !held:
		return otherPause
	case busy:
		return 0
	}
	return rest
}

// lease is the reply of hold.lua.
type lease struct {
	held         bool
	done, newest int64 // positions in the log
	now          time.Time
	due          []string // threads to trim
}

// step follows some entries of the log of a part, if the keeper has the part. busy means that there is more
// to do.
func (k *Keeper) step(part int) (busy, held bool, err error) {
	l, err := k.hold(part, "")
	if err != nil || !l.held || l.newest == l.done {
		return false, l.held, err
	}
	l, err = k.follow(part, l.done)
	return l.newest > l.done, true, err
}

// tidy trims some threads of a part, if the keeper has the part. busy means that there is more to do.
func (k *Keeper) tidy(part int) (busy, held bool, err error) {
	l, err := k.hold(part, "")
	if err != nil || !l.held {
		return false, false, err
	}
	for _, thread := range l.due {
		if thread, created, ended := strings.Cut(thread, " "); ended {
			err = k.forget(part, thread, created)
		} else {
			err = k.trim(part, thread, l.now)
		}
		if err != nil {
			return false, true, err
		}
	}
	return len(l.due) > 0, true, nil
}

// hold takes or keeps the lease of a part. upto is the position up to which the log was followed, "" for
// none.
func (k *Keeper) hold(part int, upto string) (l lease, err error) {
	var r []string
	keys := []string{partKey(part, "lease"), partKey(part, "state"), partKey(part, "log"),
		partKey(part, "trim")}
	err = k.do(part, holdScript.Call(&r, keys, k.name, strconv.FormatInt(leaseLength.Milliseconds(), 10), upto,
		strconv.FormatInt(followedStay.Milliseconds(), 10), k.cfg.now(), strconv.Itoa(trimThreads)))
	if err != nil {
		return l, err
	}
	return lease{r[0] == "1", number(r[1]), number(r[2]), milli(r[3]), r[4:]}, nil
}

// do sends a call to a part.
func (k *Keeper) do(part int, x *pipeline.Call) error {
	if k.killed != nil && k.killed() {
		return context.Canceled
	}
	return k.redis.Part(part).Do(x)
}

// forget removes what the archive has of a thread that has ended.
func (k *Keeper) forget(part int, thread, created string) error {
	if k.cfg.Archive != nil {
		if err := k.cfg.Archive.Forget(thread, epoch(milli(created))); err != nil {
			return err
		}
	}
	return k.do(part, pipeline.Command(new(int64), "ZREM", partKey(part, "trim"), thread+" "+created))
}

// trim takes messages of a thread out of Redis that are too old or too many. The archive has them before.
// Messages that are erased meanwhile are stored again: the archive may have got their content.
func (k *Keeper) trim(part int, thread string, now time.Time) error {
	var fields []string
	var found []radix.StreamEntry
	x := pipeline.Command(&fields, "HMGET", threadKey(thread), "last", "first", "created", "erased")
	x.Command(&found, "XRANGE", threadKey(thread)+":messages", "-", "+", "COUNT", strconv.Itoa(trimMessages))
	if err := k.do(part, x); err != nil {
		return err
	}
	last, first := number(fields[0]), number(fields[1])
	var messages []string // as read.lua returns them
	upto := last - int64(k.cfg.MessagesMax)
	if len(found) == trimMessages {
		upto = min(upto, int64(found[len(found)-1].ID.Time))
	}
	allOld := len(found) < trimMessages // then what was erased after them goes too
	for _, entry := range found {
		id := int64(entry.ID.Time)
		text := strconv.FormatInt(id, 10)
		head, content := entry.Fields[0][1], entry.Fields[1][1]
		if id > upto {
			if now.Sub(messageOf(thread, text, head, content).Created) < k.cfg.AgeMax {
				allOld = false
				break
			}
			upto = id
		}
		messages = append(messages, text, head, content)
	}
	if allOld {
		upto = last
	}
	erased := ""
	if k.cfg.Archive != nil {
		erased = cmp.Or(fields[3], "0")
		list := entriesOf(thread, messages, first, upto)
		if len(list) > 0 {
			if err := k.cfg.Archive.Store(thread, epoch(milli(fields[2])), list); err != nil {
				return err
			}
		}
	}
	return k.do(part, trimScript.Call(new(int64), keysOf(thread, "", "messages", "trim"), thread,
		strconv.FormatInt(max(upto, 0), 10), strconv.Itoa(k.cfg.MessagesMax),
		strconv.FormatInt(k.cfg.AgeMax.Milliseconds(), 10), fields[2], erased))
}
