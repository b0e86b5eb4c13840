package limits

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
)

// What decide.lua returns for each rate, behind the verdict.
const (
	replyHead    = 1
	replyPerRate = 3 // count, wait, reset
)

// Decision is the answer about a call.
type Decision struct {
	Allowed    bool
	Feature    string        // of Rate
	Rate       Rate          // the rate with the least room; zero if no rate can refuse
	Remaining  int64         // calls that the rate still admits; Unknown if Redis does not answer
	RetryAfter time.Duration // until a call of this cost may fit; 0 if it fits now
	Reset      time.Duration // until the rate has all its room again
}

// Unknown is the Remaining of a call that passes because Redis does not answer.
const Unknown = -1

// call is something that counts by its cost; 0 counts nothing.
type call struct {
	cost     int64
	happened bool // already: it counts, whatever room the rates have
}

// next is the cost of the call that the answer is about: calls that have happened are followed by single
// ones.
func (c call) next() int64 {
	if c.happened {
		return 1
	}
	return max(c.cost, 1)
}

// asked is a value of a feature that a call is asked about.
type asked struct {
	limit *limit
	value string
	rules *applied
	lifts uint64 // of the memory, before Redis is asked
	room  int64  // calls that its rates still admit, by the last decision
}

// Check decides on a call of an event and counts it by its cost; 0 counts nothing. features are values by
// feature; a feature without a rule is ignored. Errors: ErrNoRule, ErrBadValue, ErrNeverFits, ErrUnavailable
// of pipeline when Redis does not answer and a rule is closed. It waits for Redis.
func (l *Limiter) Check(name string, features map[string]string, cost int64) (Decision, error) {
	e := l.rules.Load().events[name]
	if e == nil {
		return Decision{}, ErrNoRule
	}
	list, err := e.ask(features)
	if err != nil {
		return Decision{}, err
	}
	for _, a := range list {
		if cost > a.rules.least {
			return Decision{}, ErrNeverFits
		}
	}
	if cost > 0 {
		for _, a := range list {
			if d, refused := a.remembered(time.Now()); refused {
				return d, nil
			}
		}
	}
	return l.decide(e, list, call{cost: cost})
}

// ask returns the values that the rules of an event ask about.
func (e *event) ask(features map[string]string) (list []asked, err error) {
	if isLocal(e.name) {
		return nil, ErrNoRule
	}
	for _, name := range slices.Sorted(maps.Keys(features)) {
		value, err := Normal(name, features[name])
		if err != nil {
			return nil, err
		}
		if limit := e.limit(name); limit != nil {
			list = append(list, limit.ask([]byte(value)))
		}
	}
	if len(list) == 0 {
		return nil, ErrNoRule
	}
	return list, nil
}

func (l *limit) ask(value []byte) asked {
	return asked{limit: l, value: string(value), rules: l.of(value), lifts: l.memory.lifts.Load()}
}

// keys appends the names of the value's logs.
func (a asked) keys(dst []string) []string { return a.rules.keys(dst, a.limit.key(a.value)) }

// keys appends the names of the logs of a key.
func (a *applied) keys(dst []string, name string) []string {
	for _, tick := range a.ticks {
		dst = append(dst, name+":"+tick)
	}
	return dst
}

// remembered returns the decision on a value that Redis has refused before.
func (a asked) remembered(now time.Time) (Decision, bool) {
	r, refused := a.limit.memory.recall([]byte(a.value), now)
	if !refused || r.rate >= len(a.rules.rates) {
		return Decision{}, false
	}
	return r.decision(a.limit.feature, a.rules, now), true
}

// decide asks Redis. Where that does not answer, the rules are open or closed.
func (l *Limiter) decide(e *event, list []asked, c call) (d Decision, err error) {
	if d, err = l.askRedis(list, c); err != nil && !e.closed {
		return Decision{Allowed: true, Remaining: Unknown}, nil
	}
	return d, err
}

// askRedis decides on some values by one script.
func (l *Limiter) askRedis(list []asked, c call) (d Decision, err error) {
	var keys []string
	args := []string{l.at(), strconv.FormatInt(c.cost, 10), bit(c.happened)}
	rates := 0
	for _, a := range list {
		keys = a.keys(keys)
		args = append(args, a.rules.args...)
		rates += len(a.rules.rates)
	}
	d = Decision{Allowed: true, Remaining: math.MaxInt64}
	if rates == 0 { // all of them are unlimited
		return d, nil
	}
	var reply []int64
	begun := time.Now()
	if err := l.conn.Do(decideScript.Call(&reply, keys, args...)); err != nil {
		return Decision{}, err
	}
	if len(reply) != replyHead+rates*replyPerRate {
		return Decision{}, fmt.Errorf("cannot read the reply of decide.lua: %d integers for %d rates",
			len(reply), rates)
	}
	d.Allowed = reply[0] == 1
	l.read(&d, list, begun, reply[replyHead:], c.next())
	return d, nil
}

// read makes the decision from the reply about each rate, and remembers the values that have no room left.
// now is the time before Redis was asked: a refusal must not last longer here than there.
func (l *Limiter) read(d *Decision, list []asked, now time.Time, reply []int64, need int64) {
	for n := range list {
		a := &list[n]
		a.room = a.rules.least
		for i, rate := range a.rules.rates {
			count, wait, reset := reply[0], milliseconds(reply[1]), milliseconds(reply[2])
			reply = reply[replyPerRate:]
			if rate.shadow {
				if count > rate.Calls {
					l.noteShadow(rate, a.limit)
				}
				continue
			}
			a.room = min(a.room, max(rate.Calls-count, 0))
			this := Decision{
				Allowed: d.Allowed, Feature: a.limit.feature, Rate: rate.Rate,
				Remaining: max(rate.Calls-count, 0), RetryAfter: wait, Reset: reset,
			}
			if this.tighter(*d) {
				*d = this
			}
			if need == 1 && wait > 0 {
				a.limit.memory.refuse([]byte(a.value), now, a.lifts, remembered{
					until: now.Add(wait).UnixNano(), reset: now.Add(reset).UnixNano(), rate: i,
				})
			}
		}
	}
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// tighter reports whether a rate of the same call leaves less room than another.
func (d Decision) tighter(other Decision) bool {
	if d.RetryAfter != other.RetryAfter {
		return d.RetryAfter > other.RetryAfter
	}
	return d.Remaining < other.Remaining
}
