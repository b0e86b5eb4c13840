package limits

import (
	_ "embed" // the scripts
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"flashsale/redisx/pipeline"
)

var (
	//go:embed buckets.lua
	bucketsSource string
	//go:embed decide.lua
	decideSource string
	//go:embed takeback.lua
	takeBackSource string
	//go:embed lift.lua
	liftSource string
)

var (
	decideScript   = pipeline.NewScript(bucketsSource + decideSource)
	takeBackScript = pipeline.NewScript(bucketsSource + takeBackSource)
	liftScript     = pipeline.NewScript(bucketsSource + liftSource)
)

// What decide.lua returns for each rate, behind the time and the verdict.
const (
	replyHead    = 2
	replyPerRate = 3 // count, wait, reset
)

// Decision is the answer about a call.
type Decision struct {
	Allowed    bool
	Rate       Rate          // the one with the least room
	Remaining  int64         // calls that it still admits; Unknown where Redis does not answer
	RetryAfter time.Duration // until a call of this cost may fit; 0 if one fits now
	Reset      time.Duration // until the rate has all its room again
}

// Unknown is Remaining where Redis has not answered and the rules let the call pass.
const Unknown = -1

// asked is a value of a feature that a call is asked about.
type asked struct {
	limit *limit
	value string
	rules *applied
}

// Check decides on a call of an event and counts it by its cost; 0 only looks. features are values by
// feature; those without a rule are ignored. Errors: ErrNoRule, ErrBadValue, ErrUnavailable of pipeline when
// Redis does not answer and a rule is closed. It waits for Redis.
func (l *Limiter) Check(name string, features map[string]string, cost int64) (Decision, error) {
	e := l.rules.events[name]
	if e == nil {
		return Decision{}, ErrNoRule
	}
	list, err := e.ask(features)
	if err != nil {
		return Decision{}, err
	}
	if cost > 0 {
		for _, a := range list {
			if d, refused := a.remembered(time.Now()); refused {
				return d, nil
			}
		}
	}
	return l.decide(e, list, cost)
}

// ask returns what the rules of an event ask about.
func (e *event) ask(features map[string]string) (list []asked, err error) {
	for _, name := range slices.Sorted(maps.Keys(features)) {
		value, err := Normal(name, features[name])
		if err != nil {
			return nil, err
		}
		if limit := e.limit(name); limit != nil {
			list = append(list, asked{limit, value, limit.of([]byte(value))})
		}
	}
	if len(list) == 0 {
		return nil, ErrNoRule
	}
	return list, nil
}

// remembered returns the decision on a value that Redis has refused before.
func (a asked) remembered(now time.Time) (Decision, bool) {
	r, refused := a.limit.memory.look([]byte(a.value), now)
	if !refused || r.rate >= len(a.rules.rates) {
		return Decision{}, false
	}
	return r.decision(a.rules, now), true
}

// decide asks Redis. Where that does not answer, the rules are open or closed.
func (l *Limiter) decide(e *event, list []asked, cost int64) (d Decision, err error) {
	if l.cfg.Cluster {
		d, err = l.decideInTurn(list, cost)
	} else {
		d, _, err = l.decideOnce(list, cost)
	}
	if err != nil && !e.closed {
		return Decision{Allowed: true, Remaining: Unknown}, nil
	}
	return d, err
}

// decideInTurn decides on one feature after the other. What the earlier ones have counted is taken back when
// a later one refuses. When this process or Redis ends between, the call stays counted there: in the
// caller's disfavour, never in its favour.
func (l *Limiter) decideInTurn(list []asked, cost int64) (tightest Decision, err error) {
	counted := make([]string, 0, len(list)) // when
	for i := range list {
		d, at, err := l.decideOnce(list[i:i+1], cost)
		if err == nil && d.Allowed {
			counted = append(counted, at)
			if i == 0 || d.tighter(tightest) {
				tightest = d
			}
			continue
		}
		for j, at := range counted {
			l.takeBack(list[j], at, cost)
		}
		return d, err
	}
	return tightest, nil
}

// takeBack takes back what decideOnce has counted at a time.
func (l *Limiter) takeBack(a asked, at string, cost int64) {
	if cost > 0 {
		var reply int64
		l.conn.Detach(takeBackScript.Call(&reply, []string{a.limit.key(a.value)}, at,
			strconv.FormatInt(cost, 10)))
	}
}

// decideOnce decides on some values in one call of Redis. at is its time.
func (l *Limiter) decideOnce(list []asked, cost int64) (d Decision, at string, err error) {
	var keys []string
	args := []string{l.at(), strconv.FormatInt(cost, 10)}
	rates := 0
	for _, a := range list {
		keys = append(keys, a.limit.key(a.value))
		args = append(args, a.rules.args...)
		rates += len(a.rules.rates)
	}
	var reply []int64
	if err := l.conn.Do(decideScript.Call(&reply, keys, args...)); err != nil {
		return d, "", err
	}
	if len(reply) != replyHead+rates*replyPerRate {
		return d, "", fmt.Errorf("cannot read the reply of decide.lua: %d integers for %d rates",
			len(reply), rates)
	}
	d = Decision{Allowed: reply[1] == 1, Remaining: math.MaxInt64}
	l.read(&d, list, reply[replyHead:], max(cost, 1))
	return d, strconv.FormatInt(reply[0], 10), nil
}

// read makes the decision of what Redis tells of each rate, and remembers the values that have no room left.
func (l *Limiter) read(d *Decision, list []asked, reply []int64, need int64) {
	now := time.Now()
	for _, a := range list {
		for i, rate := range a.rules.rates {
			count, wait, reset := reply[0], seconds(reply[1]), seconds(reply[2])
			reply = reply[replyPerRate:]
			if rate.shadow {
				if count > rate.Calls {
					l.noteShadow(rate, a.limit)
				}
				continue
			}
			this := Decision{
				Allowed: d.Allowed, Rate: rate.Rate, Remaining: max(rate.Calls-count, 0), RetryAfter: wait,
				Reset: reset,
			}
			if this.tighter(*d) {
				*d = this
			}
			if need == 1 && wait > 0 {
				a.limit.memory.refuse([]byte(a.value), now, remembered{
					until: now.Add(wait).UnixNano(), reset: now.Add(reset).UnixNano(), rate: i,
				})
			}
		}
	}
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

// tighter reports whether a rate of the same call leaves less room than another.
func (d Decision) tighter(other Decision) bool {
	if d.RetryAfter != other.RetryAfter {
		return d.RetryAfter > other.RetryAfter
	}
	return d.Remaining < other.Remaining
}

// Lift forgets what is counted of each value, here and in all other processes: these learn of it within
// liftsPoll. Errors: ErrNoRule, ErrBadValue, ErrUnavailable of pipeline.
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
		var reply int64
		if err := l.conn.Do(liftScript.Call(&reply, []string{a.limit.key(a.value)})); err != nil {
			return err
		}
		a.limit.memory.forget([]byte(a.value))
	}
	var lifts int64
	return l.conn.Do(pipeline.Command(&lifts, "INCR", liftsKey))
}
