package limits

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"time"
)

// ruleset is the rules, ready for use. It does not change.
type ruleset struct {
	events map[string]*event
	own    [ownEvents]*event // of this server, nil where there is no rule
	off    bool
	guards bool // names have a rule of login_failed
}

// event is the rules of an event.
type event struct {
	name   string
	limits []*limit // one for each feature that has rules, in the order of Features
	closed bool     // some rule refuses while Redis is away
}

// limit is the rules of an event and a feature.
type limit struct {
	event, feature string
	rules          applied
	overrides      map[string]*applied
	memory         memory
	quotas         *quotas // of an event that isLocal, nil for others

	slots     uint32 // number of keys that all values share, 0 where each has its own
	salt      []byte // secret part of a value, to choose its slot
	guesses   *limit // of names: the same by name and network
	ofGuesses bool   // its values are names, each with a network behind it
}

// applied is the rules that hold for a value.
type applied struct {
	rates []appliedRate // the rates of each log stand together
	ticks []string      // of the logs
	args  []string      // of decide.lua: the logs and their rates
	least int64         // calls of the smallest rate that refuses
}

type appliedRate struct {
	Rate
	tick   time.Duration
	shadow bool
}

// newRuleset makes a ruleset of rules.
func newRuleset(rules []Rule) *ruleset {
	s := &ruleset{events: map[string]*event{}, off: rules == nil}
	for _, rule := range rules {
		if rule.Value == "" && len(rule.Rates) == 0 { // as without a rule
			continue
		}
		e := s.events[rule.Event]
		if e == nil {
			e = &event{name: rule.Event}
			s.events[rule.Event] = e
		}
		e.closed = e.closed || rule.Closed && !rule.Shadow
		l := e.limit(rule.Feature)
		if l == nil {
			l = &limit{event: e.name, feature: rule.Feature, overrides: map[string]*applied{}}
			if isLocal(e.name) {
				l.quotas = &quotas{}
			}
			e.limits = append(e.limits, l)
		}
		if rule.Value == "" {
			l.rules.add(rule)
			continue
		}
		l.overrides[rule.Value] = &applied{}
		l.overrides[rule.Value].add(rule)
	}
	for _, e := range s.events {
		slices.SortFunc(e.limits, func(a, b *limit) int {
			return slices.Index(Features, a.feature) - slices.Index(Features, b.feature)
		})
		for _, l := range e.limits {
			l.rules.prepare()
			for _, a := range l.overrides {
				a.prepare()
			}
		}
	}
	for i, name := range ownNames {
		s.own[i] = s.events[name]
	}
	return s
}

// limit returns the rules of a feature, nil for a feature without rules.
func (e *event) limit(feature string) *limit {
	for _, l := range e.limits {
		if l.feature == feature {
			return l
		}
	}
	return nil
}

// of returns the rules for a value.
func (l *limit) of(value []byte) *applied {
	if l.ofGuesses {
		value = value[:len(value)-addressBytes]
	}
	if a := l.overrides[string(value)]; a != nil {
		return a
	}
	return &l.rules
}

// key is the name of the value's logs, without the tick.
func (l *limit) key(value string) string {
	switch {
	case l.ofGuesses:
		return l.guessKey(splitGuess(value))
	case l.slots > 0:
		return l.keyOf(l.slot(value))
	}
	if len(value) > valueKeyMax {
		sum := sha256.Sum256([]byte(value))
		value = "#" + hex.EncodeToString(sum[:]) // longer than any value that stands for itself
	}
	return l.keyOf(value)
}

func (l *limit) keyOf(value string) string {
	return keyPrefix + l.event + ":" + l.feature + ":" + value
}

func (a *applied) add(rule Rule) {
	for _, rate := range rule.Rates {
		a.rates = append(a.rates, appliedRate{rate, rate.tick(rule.Precise), rule.Shadow})
	}
}

func (a *applied) prepare() {
	slices.SortStableFunc(a.rates, func(a, b appliedRate) int { return cmp.Compare(a.tick, b.tick) })
	a.least = math.MaxInt64
	for rest := a.rates; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].tick == rest[0].tick {
			n++
		}
		tick := text(rest[0].tick)
		a.ticks = append(a.ticks, tick)
		a.args = append(a.args, tick, strconv.Itoa(n))
		for _, rate := range rest[:n] {
			a.args = append(a.args, strconv.FormatInt(rate.Calls, 10), text(rate.Window), bit(rate.shadow))
			if !rate.shadow {
				a.least = min(a.least, rate.Calls)
			}
		}
		rest = rest[n:]
	}
}

// text is a time in milliseconds.
func text(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// bit is a switch of a rate.
func bit(set bool) string {
	if set {
		return "1"
	}
	return "0"
}
