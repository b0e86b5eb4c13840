package limits

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

const (
	liftsMax = 1024 // entries of liftsKey; where more are new to a process it forgets all refusals
	// liftsKept is how long the entries stay: no refusal from before is remembered any more.
	liftsKept = 25*time.Hour + time.Minute

	unlockStep = 1000 // keys of Redis that one command compares
)

// Lift forgets the counts of each value. Other processes forget their refusals within watchPace. Errors:
// ErrNoRule, ErrBadValue, ErrUnavailable of pipeline.
func (l *Limiter) Lift(name string, features map[string]string) error {
	e := l.rules.Load().events[name]
	if e == nil {
		return ErrNoRule
	}
	list, err := e.ask(features)
	if err != nil {
		return err
	}
	for _, a := range list {
		if err := l.lift(a); err != nil {
			return err
		}
	}
	return nil
}

// Unlock lifts the block of a name at the login, in all processes that use that Redis, within watchPace.
// found reports whether failed logins were counted. It finds the keys by their names, so it needs no rules.
func Unlock(ctx context.Context, cfg pipeline.Config, name string) (found bool, err error) {
	rules, err := ParseRules("unlock", Name(LoginFailed)+" by user 1/s")
	if err != nil {
		return false, err
	}
	asked, err := New(Config{Redis: cfg, Rules: rules}).rules.Load().own[LoginFailed].
		ask(map[string]string{"user": name})
	if err != nil {
		return false, err
	}
	link, err := pipeline.Dial(ctx, cfg)
	if err != nil {
		return false, err
	}
	defer link.Close()
	glob := asked[0].limit.key(asked[0].value) + "*"
	for cursor := ""; cursor != "0" && ctx.Err() == nil; {
		var keys []string
		page := pipeline.Command(&radix.Tuple{&cursor, &keys},
			"SCAN", cmp.Or(cursor, "0"), "MATCH", glob, "COUNT", strconv.Itoa(unlockStep))
		if err := link.Do(page, cfg.Timeout); err != nil {
			return false, err
		}
		for _, key := range keys {
			if err := link.Do(pipeline.Command(new(int64), "DEL", key), cfg.Timeout); err != nil {
				return false, err
			}
			found = true
		}
	}
	if err := ctx.Err(); err != nil {
		return found, err
	}
	return found, link.Do(asked[0].lifted(), cfg.Timeout)
}

// lift forgets the counts of a value.
func (l *Limiter) lift(a asked) error {
	keys, err := l.keysOf(a)
	if err == nil && len(keys) > 0 { // else it is unlimited
		err = l.conn.Do(pipeline.Command(new(int64), append([]string{"DEL"}, keys...)...))
	}
	if err != nil {
		return err
	}
	a.limit.forget([]byte(a.value))
	return l.conn.Do(a.lifted())
}

// forget forgets the refusal of a value, of a name at all networks.
func (l *limit) forget(value []byte) {
	l.memory.forget(value)
	if l.guesses != nil {
		l.guesses.memory.forgetName(value)
	}
}

// lifted is the call that tells the other processes.
func (a asked) lifted() *pipeline.Call {
	var id string
	return pipeline.Command(&id, "XADD", liftsKey, "MAXLEN", strconv.Itoa(liftsMax), "*",
		"event", a.limit.event, "feature", a.limit.feature, "value", a.value).
		Command(new(int64), "PEXPIRE", liftsKey, text(liftsKept))
}

// hearLifts forgets the refusals that were lifted since the entry with the ID seen, "" at first. It returns
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
	if e := l.rules.Load().events[of["event"]]; e != nil {
		if limit := e.limit(of["feature"]); limit != nil {
			limit.forget([]byte(of["value"]))
		}
	}
}

// forgetAll forgets all refusals.
func (l *Limiter) forgetAll() {
	for _, e := range l.rules.Load().events {
		for _, limit := range e.limits {
			limit.memory.forgetAll()
		}
	}
}
