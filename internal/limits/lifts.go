package limits

import (
	"cmp"
	"strconv"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

const (
	liftsMax = 1024 // entries of liftsKey; where more are new to a process it forgets all refusals
	// liftsKept is how long the entries stay: no refusal from before is remembered any more.
	liftsKept = 25*time.Hour + time.Minute
)

// Lift forgets what is counted of each value, here and in all other processes: these learn of it within
// watchPace. Errors: ErrNoRule, ErrBadValue, ErrUnavailable of pipeline.
func (l *Limiter) Lift(name string, features map[string]string) error {
	e := l.rules.Load().events[name]
	if e == nil {
		return ErrNoRule
	}
	list, err := e.ask(features)
	if err != nil {
		return err
	}
	for _, a := range list { // each in a call of its own, see Config.Cluster
		if len(a.rules.ticks) > 0 { // else it is unlimited
			var found int64
			if err := l.conn.Do(pipeline.Command(&found, a.keys([]string{"DEL"})...)); err != nil {
				return err
			}
		}
		a.limit.memory.forget([]byte(a.value))
		if err := l.tellLift(a); err != nil {
			return err
		}
	}
	return nil
}

// tellLift tells the other processes.
func (l *Limiter) tellLift(a asked) error {
	var id string
	var kept int64
	return l.conn.Do(pipeline.Command(&id, "XADD", liftsKey, "MAXLEN", strconv.Itoa(liftsMax), "*",
		"event", a.limit.event, "feature", a.limit.feature, "value", a.value).
		Command(&kept, "PEXPIRE", liftsKey, text(liftsKept)))
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
	if e := l.rules.Load().events[of["event"]]; e != nil {
		if limit := e.limit(of["feature"]); limit != nil {
			limit.memory.forget([]byte(of["value"]))
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
