package limits

import (
	"strconv"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/redisx/pipeline"
)

// begin makes a Limiter of rules, which runs until the test ends.
func begin(tb testing.TB, redis pipeline.Config, rules string, options ...func(*Config)) *Limiter {
	tb.Helper()
	testkit.KeepLog(tb)
	cfg := Config{Redis: redis, Rules: parse(tb, rules)}
	for _, option := range options {
		option(&cfg)
	}
	l := New(cfg)
	testkit.Background(tb, l.Run)
	testkit.Until(tb, "connection to Redis", l.conn.Up)
	return l
}

func parse(tb testing.TB, text string) []Rule {
	tb.Helper()
	rules, err := ParseRules("rules", text)
	testkit.Must(tb, err)
	return rules
}

// setTime lets the limiter decide at a second of its own.
func (l *Limiter) setTime(second int64) { l.setMillisecond(second * 1000) }

func (l *Limiter) setMillisecond(n int64) { l.at = func() string { return strconv.FormatInt(n, 10) } }

// ask decides on a call without the memory of this process, in which time goes on.
func (l *Limiter) ask(tb testing.TB, event string, cost int64, features map[string]string) Decision {
	tb.Helper()
	return l.tell(tb, event, call{cost: cost}, features)
}

// tell is ask for what may have happened already.
func (l *Limiter) tell(tb testing.TB, event string, c call, features map[string]string) Decision {
	tb.Helper()
	e := l.rules.Load().events[event]
	list, err := e.ask(features)
	testkit.Must(tb, err)
	d, err := l.decide(e, list, c)
	testkit.Must(tb, err)
	return d
}

func user(name string) map[string]string { return map[string]string{"user": name} }
