package limits

import (
	"cmp"
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

const (
	liftsMax = 1024 // entries of liftsKey; where more are new to a process it forgets all refusals
	// liftsKept is how long the entries stay: no refusal from before is remembered any more.
	liftsKept = 25*time.Hour + time.Minute

	unlockPause = 10 * time.Millisecond // between two tries of Unlock
)

// Lift forgets what is counted of each value, here and in all other processes: these learn of it within
// watchPace. Errors: ErrNoRule, ErrBadValue, ErrUnavailable of pipeline.
func (l *Limiter) Lift(name string, features map[string]string) error {
	e := l.rules.events[name]
	if e == nil {
		return ErrNoRule
	}
	list, err := e.ask(features)
	if err != nil {
		return err
	}
	for _, a := range list { // each in a call of its own, see Config.Cluster
		if _, err := l.lift(a); err != nil {
			return err
		}
	}
	return nil
}

// Unlock lifts what stands against logins with a name, in all processes that use that Redis, within
// watchPace. found reports whether something was counted.
func Unlock(ctx context.Context, cfg pipeline.Config, name string) (found bool, err error) {
	rules, err := ParseRules("unlock", Name(LoginFailed)+" by user 1/s") // what is counted depends on no rate
	if err != nil {
		return false, err
	}
	l := New(Config{Redis: cfg, Rules: rules})
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = l.conn.Run(ctx) }) // it returns nil
	defer running.Wait()
	defer stop()
	list, err := l.rules.own[LoginFailed].ask(map[string]string{"user": name})
	if err != nil {
		return false, err
	}
	for limit := time.Now().Add(cfg.Timeout); ; time.Sleep(unlockPause) {
		n, err := l.lift(list[0])
		if err == nil || ctx.Err() != nil || time.Now().After(limit) {
			return n > 0, err
		}
	}
}

// lift forgets what is counted of a value, and returns how many keys there were.
func (l *Limiter) lift(a asked) (found int64, err error) {
	counts, others, err := l.keysOf(a)
	if err != nil {
		return 0, err
	}
	if err := l.conn.Do(liftScript.Call(&found, counts, l.at())); err != nil {
		return 0, err
	}
	for _, key := range others {
		var deleted int64
		if err := l.conn.Do(pipeline.Command(&deleted, "DEL", key)); err != nil {
			return 0, err
		}
	}
	a.limit.forget([]byte(a.value))
	return found, l.tellLift(a)
}

// forget forgets the refusal of a value, of a name at all networks.
func (l *limit) forget(value []byte) {
	l.memory.forget(value)
	if l.guesses != nil {
		l.guesses.memory.forgetName(value)
	}
}

// tellLift tells the other processes.
func (l *Limiter) tellLift(a asked) error {
	var id string
	var kept int64
	return l.conn.Do(pipeline.Command(&id, "XADD", liftsKey, "MAXLEN", strconv.Itoa(liftsMax), "*",
		"event", a.limit.event, "feature", a.limit.feature, "value", a.value).
		Command(&kept, "EXPIRE", liftsKey, text(liftsKept)))
}

// hearLifts forgets the refusals that were lifted since the entry with the ID seen, "" for none. It returns
// the ID of the newest entry.
func (l *Limiter) hearLifts(seen string) string {
	var list []radix.StreamEntry
	x := pipeline.Command(&list, "XRANGE", liftsKey, cmp.Or(seen, "-"), "+")
	if err := l.conn.Do(x); err != nil {
		return seen
	}
	if len(list) == 0 {
		return ""
	}
	last := list[len(list)-1].ID.String()
	switch known := list[0].ID.String() == seen; {
	case known:
		list = list[1:]
	case seen != "" || len(list) >= liftsMax: // some were thrown away unheard
		l.forgetAll()
		return last
	}
	for _, entry := range list {
		l.hearLift(entry)
	}
	return last
}

// hearLift forgets the refusal of an entry's value, if there is a rule for it here.
func (l *Limiter) hearLift(entry radix.StreamEntry) {
	of := map[string]string{}
	for _, field := range entry.Fields {
		of[field[0]] = field[1]
	}
	if e := l.rules.events[of["event"]]; e != nil {
		if limit := e.limit(of["feature"]); limit != nil {
			limit.forget([]byte(of["value"]))
		}
	}
}

// forgetAll forgets all refusals.
func (l *Limiter) forgetAll() {
	for _, e := range l.rules.events {
		for _, limit := range e.limits {
			limit.memory.forgetAll()
		}
	}
}
