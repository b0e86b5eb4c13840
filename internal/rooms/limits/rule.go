package limits

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"flashsale/internal/serve/listener"
)

// DefaultRules guard the login, and keep a user from filling the room of repeated messages: no person types
// a text a second for a minute, and ten fast users may share an address; what an address sends in a day
// takes at most 300 MB of Redis. A whole school may share one when people register. Who invites 1,000 people
// in an hour is a program, and so is who makes thirty calls a second for long; ten thousand clients with
// their heartbeats may share an address. Nobody logs out once a second, or
// opens ten payments in a minute, or has ten wrong coupons.
const DefaultRules = "login_failed by user 5/m 10/d; login_failed by ip 60/m; " +
	"message by user 60/m; message by ip 600/m 50000/d; register by user 5/h; register by ip 60/h 300/d; " +
	"invite by user 1000/h; invite by ip 5000/h; chat by user 300/10s; chat by ip 20000/10s; " +
	"logout by user 60/m; payment by user 10/m; payment by ip 600/m; coupon by user 10/m; coupon by ip 600/m"

// Limits of rules.
const (
	RateMax  = 4_000_000 // calls in a window, so no call costs more
	ratesMax = 8         // of a rule
	nameMax  = 64        // bytes of an event
	valueMax = 255       // bytes of a feature's value
)

// Features are what calls can be limited by. vk is the id of a sender in VK.
var Features = []string{"ip", "user", "email", "vk"}

// Rule limits the calls of an event by a feature. Rules of the same event and feature count the same calls.
type Rule struct {
	Event, Feature string
	Value          string // the value that has this rule and no other; "" for all values
	Rates          []Rate // empty: unlimited
	Shadow         bool   // counts and never refuses
	Closed         bool   // while Redis is away calls are refused, else they pass
	Precise        bool   // exact to a second, whatever the window, and to a millisecond up to a minute
}

// Rate is a number of calls in any window of time.
type Rate struct {
	Calls  int64
	Window time.Duration // from 1 s to 24 h
}

// String writes the rate as in a rule: "5/m", "10/15m".
func (r Rate) String() string {
	for _, unit := range units {
		if n := r.Window / unit.length; r.Window%unit.length == 0 && n >= 1 {
			if n == 1 {
				return fmt.Sprintf("%d/%s", r.Calls, unit.name)
			}
			return fmt.Sprintf("%d/%d%s", r.Calls, n, unit.name)
		}
	}
	return fmt.Sprintf("%d/%v", r.Calls, r.Window)
}

// units of a window, the longest first; most is how many of them a window may have.
var units = []struct {
	name   string
	length time.Duration
	most   int
}{{"d", 24 * time.Hour, 1}, {"h", time.Hour, 24}, {"m", time.Minute, 60}, {"s", time.Second, 60}}

// ticksPerWindow makes the counted window at most a hundredth longer than the rule's. At a twentieth, calls
// 5% below a rate would be refused.
const ticksPerWindow = 100

// tick is the length of time in which calls are counted as one, whole milliseconds.
func (r Rate) tick(precise bool) time.Duration {
	switch {
	case !precise:
		return r.Window / ticksPerWindow
	case r.Window <= time.Minute:
		return time.Millisecond
	}
	return time.Second
}

// ParseRules reads rules, one a line or with ; between them; # begins a comment. source names the file or
// the flag in errors, which have the line and the reason.
//
//	login_failed by user 5/m 10/d
//	login_failed by ip of 10.0.0.1 unlimited
//	order by user 2/s precise closed
//	cart by ip 100/m shadow
func ParseRules(source, text string) (rules []Rule, err error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(line, "#")
		for part := range strings.SplitSeq(line, ";") {
			words := strings.Fields(part)
			if len(words) == 0 {
				continue
			}
			rule, err := parseRule(words)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", source, number, err)
			}
			rules = append(rules, rule)
			if err := checkTwins(rules); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", source, number, err)
			}
		}
	}
	return rules, nil
}

// checkTwins reports an error if another rule has the same value as the last rule, or a rate of the same
// window. Rules that differ in precise or shadow are no twins: one may be tried beside the other.
func checkTwins(rules []Rule) error {
	last := len(rules) - 1
	this := rules[last]
	windows := map[time.Duration]bool{}
	for i, other := range rules {
		if other.Event != this.Event || other.Feature != this.Feature || other.Value != this.Value {
			continue
		}
		if this.Value != "" && i < last {
			return fmt.Errorf("%s by %s of %s has a rule already", this.Event, this.Feature, this.Value)
		}
		if other.Shadow != this.Shadow || other.Precise != this.Precise {
			continue
		}
		for _, rate := range other.Rates {
			if windows[rate.Window] {
				return fmt.Errorf("%s by %s has two rates with the window of %v", this.Event, this.Feature, rate)
			}
			windows[rate.Window] = true
		}
	}
	return nil
}

// WithDefaults puts default rules in front of rules, except where a rule takes the place of a default rule:
// it has the same event and feature, is for all values, and refuses.
func WithDefaults(rules []Rule) []Rule {
	defaults, err := ParseRules("default rules", DefaultRules)
	if err != nil {
		panic(err) // a test reads them
	}
	defaults = slices.DeleteFunc(defaults, func(d Rule) bool {
		return slices.ContainsFunc(rules, func(r Rule) bool {
			return r.Event == d.Event && r.Feature == d.Feature && r.Value == "" && !r.Shadow
		})
	})
	return append(defaults, rules...)
}

// parseRule reads the words of a rule.
func parseRule(words []string) (r Rule, err error) {
	if len(words) < 4 || words[1] != "by" {
		return r, fmt.Errorf("%q is no rule; it must be <event> by <feature> <rates>, "+
			"as login_failed by user 5/m 10/d", strings.Join(words, " "))
	}
	r.Event, r.Feature = words[0], words[2]
	if !isEvent(r.Event) {
		return r, fmt.Errorf("event %q; it must be at most %d lower-case letters, digits and _", r.Event, nameMax)
	}
	if !slices.Contains(Features, r.Feature) {
		return r, fmt.Errorf("feature %q; it must be %s", r.Feature, strings.Join(Features, ", "))
	}
	if known := ownFeatures(r.Event); known != nil && !slices.Contains(known, r.Feature) {
		return r, fmt.Errorf("%s is never known by %s; it must be by %s", r.Event, r.Feature,
			strings.Join(known, " or "))
	}
	words = words[3:]
	if words[0] == "of" && len(words) > 1 {
		if r.Value, err = Normal(r.Feature, words[1]); err != nil {
			return r, err
		}
		words = words[2:]
	}
	unlimited := false
	for _, word := range words {
		switch word {
		case "unlimited":
			unlimited = true
		case "shadow":
			r.Shadow = true
		case "closed":
			r.Closed = true
		case "open":
			r.Closed = false
		case "precise":
			r.Precise = true
		case "tiered":
			r.Precise = false
		default:
			rate, err := parseRate(word)
			if err != nil {
				return r, err
			}
			r.Rates = append(r.Rates, rate)
		}
	}
	switch {
	case unlimited && len(r.Rates) > 0:
		return r, fmt.Errorf("%s by %s is unlimited and has rates", r.Event, r.Feature)
	case !unlimited && len(r.Rates) == 0:
		return r, fmt.Errorf("%s by %s has no rates, as 5/m", r.Event, r.Feature)
	case len(r.Rates) > ratesMax:
		return r, fmt.Errorf("%s by %s has %d rates; it may have %d", r.Event, r.Feature, len(r.Rates), ratesMax)
	}
	return r, nil
}

// isEvent reports whether a text can be the name of an event.
func isEvent(name string) bool {
	return name != "" && len(name) <= nameMax && !strings.ContainsFunc(name, func(c rune) bool {
		return c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9')
	})
}

// parseRate reads "5/m" or "10/15m".
func parseRate(text string) (Rate, error) {
	calls, window, found := strings.Cut(text, "/")
	n, err := strconv.ParseInt(calls, 10, 64)
	if !found || err != nil {
		return Rate{}, fmt.Errorf("%q is no rate (5/m, 10/15m, 2/s, 100/h, 1000/d) and none of the words "+
			"unlimited, shadow, closed, open, precise, tiered", text)
	}
	if n < 1 || n > RateMax {
		return Rate{}, fmt.Errorf("rate %s: a window may have from 1 to %d calls", text, RateMax)
	}
	for _, unit := range units {
		count, found := strings.CutSuffix(window, unit.name)
		if !found {
			continue
		}
		k := 1
		if count != "" {
			k, err = strconv.Atoi(count)
		}
		if err != nil || k < 1 || k > unit.most {
			return Rate{}, fmt.Errorf("rate %s: a window in %s may have from 1 to %d of them, in whole numbers of "+
				"one unit, and a day at most", text, unit.name, unit.most)
		}
		return Rate{n, time.Duration(k) * unit.length}, nil
	}
	return Rate{}, fmt.Errorf("rate %s: the window must be s, m, h or d", text)
}

// Normal is the form in which a feature's value is counted. An IPv6 client has a network of /64 to itself,
// so its addresses there count as one; capitals in an email address make no difference; a user that is too
// long counts by its first bytes, as in Who. Error: ErrBadValue.
func Normal(feature, value string) (string, error) {
	if feature == "user" {
		value = value[:min(len(value), valueMax)]
	}
	if value == "" || len(value) > valueMax {
		return "", fmt.Errorf("%w: %s has %d bytes; it must have from 1 to %d", ErrBadValue, feature, len(value),
			valueMax)
	}
	switch feature {
	case "user":
		return value, nil
	case "ip":
		address, err := netip.ParseAddr(value)
		if err != nil {
			return "", fmt.Errorf("%w: ip %q is no address", ErrBadValue, value)
		}
		return listener.Subscriber(address).String(), nil
	case "email":
		return strings.ToLower(value), nil
	case "vk":
		id, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return "", fmt.Errorf("%w: vk %q is no id", ErrBadValue, value)
		}
		return strconv.FormatInt(id, 10), nil
	}
	return "", fmt.Errorf("%w %q; it must be %s", ErrBadValue, feature, strings.Join(Features, ", "))
}
