package limits

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"flashsale/redisx/pipeline"
)

// Guesses of a name count twice: by name and network, which closes the name for that network only, and by
// name alone, which slows the name down for all networks that are not known to belong to the user. Clients
// choose names, and may have many addresses: so both share tables of a fixed size, whether a name exists or
// not. The answers do not tell which names exist.
const (
	nameSlots    = 1 << 13 // tables of the names of login_failed: names in one slot count together
	addressSlots = 1 << 13 // the same of addresses, for each event of this server
	seatsMax     = 8       // networks of a slot that count by themselves
	seatsKept    = 8       // more, for administrators and where the user has logged in before
	// crowdedWait is how long a network without a seat waits in each worker after a guess.
	crowdedWait = time.Minute
	// A name that is slowed down is open in the first slowOpen of each slowPeriod, for all clients. So no wait
	// is longer than their difference, and a client that obeys Retry-After gets in, however many others guess.
	// slowOpen is more than the second that Retry-After is rounded up by.
	slowPeriod = 5 * time.Second
	slowOpen   = 2 * time.Second

	doubtedMax = 64 // users of whom networks are read from Redis again in each watchPace

	addressBytes = 16  // of a network in the value of a guess, behind the name
	noRate       = 1e9 // the place of the rate of a refusal that comes from no rate
)

// shareKeys makes values of this server's events share keys if clients choose the values.
func (s *ruleset) shareKeys(secret []byte) {
	for _, e := range s.own {
		if e == nil {
			continue
		}
		if by := e.limit("ip"); by != nil { // the secret keeps clients from choosing a slot to share
			by.slots, by.salt = addressSlots, secret
		}
		if by := e.limit("user"); by != nil && e.name == Name(Register) {
			by.slots = nameSlots
		}
		if by := e.limit("user"); by != nil && e.name == Name(LoginFailed) {
			s.guards, by.slots = true, nameSlots
			by.guesses = &limit{event: by.event, feature: by.feature, rules: by.rules, overrides: by.overrides,
				slots: nameSlots, ofGuesses: true}
			by.guesses.memory.named = true
			e.limits = append(e.limits, by.guesses)
		}
	}
}

// slot names the slot of a value.
func (l *limit) slot(value string) string {
	sum := sha256.Sum256(append(slices.Clone(l.salt), value...))
	return fmt.Sprintf("#%04x", binary.BigEndian.Uint32(sum[:])%l.slots)
}

// splitGuess returns the name and the network of a guess.
func splitGuess(value string) (name, network string) {
	at := len(value) - addressBytes
	return value[:at], netip.AddrFrom16([addressBytes]byte([]byte(value[at:]))).Unmap().String()
}

// seatsKey is the key of the networks that count for a name.
func (l *limit) seatsKey(name string) string { return l.keyOf(l.slot(name)) + ":seats" }

// guessKey is the key of the guesses of a name from a network.
func (l *limit) guessKey(name, network string) string {
	return l.keyOf(l.slot(name)) + "@" + network
}

// refusedGuess is the verdict on a guess of a name that has no room left for all of them together: total.
func (l *Limiter) refusedGuess(by *limit, w Who, total Decision, now time.Time) (Decision, bool) {
	var scratch [valueMax + addressBytes]byte
	if d, closed := by.guesses.refused(w.value(by.guesses, scratch[:0]), now); closed {
		return d, true
	}
	if total.RetryAfter = slowWait(now); total.RetryAfter == 0 || l.isAdmin(w) {
		return total, false
	}
	user, found := l.userOf(w.Name)
	if !found {
		return total, true
	}
	if l.known.has(user, w.Address) {
		return total, false
	}
	select {
	case l.doubted <- user: // a login from there may have come to another process
	default:
	}
	return total, true
}

// slowWait is how long a name that is slowed down is shut, 0 where it is open.
func slowWait(now time.Time) time.Duration {
	at := time.Duration(now.UnixNano()) % slowPeriod
	if at < slowOpen {
		return 0
	}
	return slowPeriod - at
}

// isAdmin reports whether a caller is in a network of administrators.
func (l *Limiter) isAdmin(w Who) bool {
	return slices.ContainsFunc(l.cfg.AdminFrom, func(n netip.Prefix) bool { return n.Contains(w.Address) })
}

// userOf returns the user of a name.
func (l *Limiter) userOf(name []byte) (user uint32, found bool) {
	if l.cfg.UserOf == nil || len(name) == 0 {
		return 0, false
	}
	return l.cfg.UserOf(name)
}

// seat reports whether guesses of a name from a network count by themselves. Where they do not, the network
// is refused in this process for a while.
func (l *Limiter) seat(by *limit, value []byte, trusted bool) (seated bool, err error) {
	name, network := splitGuess(string(value))
	seats := seatsMax
	if trusted {
		seats += seatsKept
	}
	var taken int64
	err = l.conn.Do(seatScript.Call(&taken, []string{by.seatsKey(name)}, l.at(),
		network, strconv.Itoa(seats), text(liftsKept)))
	if err == nil && taken == 0 {
		by.close(value, time.Now())
	}
	return taken == 1, err
}

// close refuses a value in this process for crowdedWait.
func (l *limit) close(value []byte, now time.Time) {
	l.memory.refuse(value, now, l.memory.lifts.Load(),
		remembered{until: now.Add(crowdedWait).UnixNano(), rate: noRate})
}

// closeUncounted refuses the name of a guess that cannot be counted, for its network: a queue that is full
// of other names must not let guesses pass.
func (e *event) closeUncounted(w Who) {
	var scratch [valueMax + addressBytes]byte
	for _, by := range e.limits {
		if value := w.value(by, scratch[:0]); value != nil && (by.ofGuesses || by.guesses != nil) {
			by.close(value, time.Now())
		}
	}
}

// keysOf lists the keys of a value's counts.
func (l *Limiter) keysOf(a asked) (keys []string, err error) {
	keys = a.keys(nil)
	if a.limit.guesses == nil {
		return keys, nil
	}
	var networks []string
	seats := a.limit.seatsKey(a.value)
	if err := l.conn.Do(pipeline.Command(&networks, "ZRANGE", seats, "0", "-1")); err != nil {
		return nil, err
	}
	for _, network := range networks {
		keys = a.rules.keys(keys, a.limit.guessKey(a.value, network))
	}
	return append(keys, seats), nil
}
