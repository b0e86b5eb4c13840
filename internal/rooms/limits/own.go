package limits

import (
	"bytes"
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"flashsale/internal/serve/listener"
)

// Event is an event of this server.
type Event int

// The events of this server, by their names in rules.
const (
	LoginFailed Event = iota // login_failed, by user (the name) and ip
	Order                    // order, by user (the id) and ip
	Cart                     // cart: a change to a cart, by user (the id) and ip
	Message                  // message: a text that was sent in, by user (the id) and ip, or by vk (the sender)
	Register                 // register: an account is asked for, by user (the name) and ip
	Invite                   // invite: a user is put into a thread by another one, by user (the id) and ip
	Chat                     // chat: other calls of the conversation, by user (the id) and ip; see isLocal
	Logout                   // logout: a session ends, by user (the id) and ip
	Payment                  // payment: a payment is opened, by user (the id) and ip
	Coupon                   // coupon: an order has a coupon that is unknown or used, by user (the id) and ip
	ownEvents
)

var ownNames = [ownEvents]string{"login_failed", "order", "cart", "message", "register", "invite", "chat",
	"logout", "payment", "coupon"}

// Name is the event's name in rules.
func Name(event Event) string { return ownNames[event] }

// Who is the caller of an event of this server.
type Who struct {
	Name    []byte     // of LoginFailed and Register; nil elsewhere
	ID      uint32     // of the user, 0 with a Name
	VK      int64      // id of a sender in VK, who has nothing else here; 0 for others
	Address netip.Addr // the zero Addr where it does not matter, see ByAddress
}

// value is the caller's value of a limit as it is counted, nil where that is unknown. dst is room for it.
func (w Who) value(by *limit, dst []byte) []byte {
	switch {
	case by.feature == "ip" && w.Address.IsValid():
		return listener.Subscriber(w.Address).AppendTo(dst)
	case by.feature == "vk" && w.VK != 0:
		return strconv.AppendInt(dst, w.VK, 10)
	case by.feature != "user":
		return nil
	case len(w.Name) > 0:
		dst = append(dst, w.Name[:min(len(w.Name), valueMax)]...)
		if by.ofGuesses {
			address := listener.Subscriber(w.Address).As16()
			dst = append(dst, address[:]...)
		}
		return dst
	case by.ofGuesses:
		return nil
	case w.ID != 0:
		return strconv.AppendUint(dst, uint64(w.ID), 10)
	}
	return nil
}

// ByAddress reports whether Refused needs the caller's address now: some rule of the event goes by it, and
// has refused an address or may soon, or the caller's name has no room left.
func (l *Limiter) ByAddress(event Event, w Who, now time.Time) bool {
	e := l.rules.Load().own[event]
	if e == nil {
		return false
	}
	for _, by := range e.limits {
		if by.feature == "ip" && by.memory.used() {
			return true
		}
		if by.guesses != nil && by.memory.used() {
			var scratch [valueMax]byte
			if value := w.value(by, scratch[:0]); value != nil {
				if _, full := by.refused(value, now); full {
					return true
				}
			}
		}
	}
	return false
}

// Limits reports whether there is a rule for the event, and whether it goes by the address too.
func (l *Limiter) Limits(event Event) (limited, byAddress bool) {
	e := l.rules.Load().own[event]
	if e == nil {
		return false, false
	}
	return true, e.limit("ip") != nil || event == LoginFailed
}

// ownFeatures are the features that an event of this server has, nil for another event.
func ownFeatures(event string) []string {
	switch {
	case event == Name(Message):
		return []string{"user", "ip", "vk"}
	case IsOwn(event):
		return []string{"user", "ip"}
	}
	return nil
}

// isLocal reports whether each process counts the event by itself, see Take.
func isLocal(event string) bool { return event == Name(Chat) }

// IsOwn reports whether an event of that name is one of this server.
func IsOwn(name string) bool { return slices.Contains(ownNames[:], name) }

// shortWait is the Retry-After of a client if calls on their way to Redis use up the rate, or if nothing can
// be counted and a rule is closed.
const shortWait = time.Second

// Refused reports whether the event is refused to the caller now, and why: Rate is zero if the calls that
// are on their way to Redis use up the rate, Remaining is Unknown if Redis is away or does not count, and a
// rule is closed. Refused asks only the memory of this process: it does not wait and does not allocate.
func (l *Limiter) Refused(event Event, w Who, now time.Time) (d Decision, refused bool) {
	e := l.rules.Load().own[event]
	if e == nil {
		return d, false
	}
	if e.closed && (l.losing.Load() || !l.conn.Up()) {
		return Decision{Remaining: Unknown, RetryAfter: shortWait}, true
	}
	var scratch [valueMax + addressBytes]byte
	for _, limit := range e.limits {
		value := w.value(limit, scratch[:0])
		if value == nil || limit.ofGuesses {
			continue
		}
		this, stands := limit.refused(value, now)
		if stands && limit.guesses != nil {
			this, stands = l.refusedGuess(limit, w, this, now)
		}
		if stands && (!refused || this.tighter(d)) {
			d, refused = this, true
		}
	}
	return d, refused
}

// refused is Limiter.Refused for a value. As many calls may be on their way as the smallest rate has.
func (l *limit) refused(value []byte, now time.Time) (Decision, bool) {
	r, refused := l.memory.recall(value, now)
	rules := l.of(value)
	switch {
	case refused && r.rate < len(rules.rates):
		return r.decision(l.feature, rules, now), true
	case refused:
		return Decision{Feature: l.feature, RetryAfter: time.Duration(r.until - now.UnixNano())}, true
	case int64(r.pending) >= rules.least || r.room > 0 && r.pending >= r.room-1:
		return Decision{Feature: l.feature, RetryAfter: shortWait}, true
	}
	return Decision{}, false
}

// decision is the answer of Redis that is remembered.
func (r remembered) decision(feature string, rules *applied, now time.Time) Decision {
	return Decision{
		Feature: feature, Rate: rules.rates[r.rate].Rate, RetryAfter: time.Duration(r.until - now.UnixNano()),
		Reset: max(time.Duration(r.reset-now.UnixNano()), 0),
	}
}

// happened is an event that is to be counted, some times.
type happened struct {
	event *event
	who   Who
	times int32
}

// Record puts an event into the queue of events to count, some times. It does not wait: if the queue is full
// the event is not counted, and that is logged.
func (l *Limiter) Record(event Event, w Who, times int) {
	e := l.rules.Load().own[event]
	if e == nil {
		return
	}
	w.Name = bytes.Clone(w.Name)
	var scratch [valueMax + addressBytes]byte
	h := happened{e, w, int32(times)}
	for _, limit := range e.limits { // before a counter can arrive with it
		if value := w.value(limit, scratch[:0]); value != nil {
			limit.memory.send(value, h.times)
		}
	}
	queue, lose := l.queue, l.lose
	if event == LoginFailed || event == Register { // anyone can send them
		queue, lose = l.guesses, l.loseGuess
	}
	select {
	case queue <- h:
	default:
		lose(h)
	}
}

// lose gives up an event that cannot be counted.
func (l *Limiter) lose(h happened) {
	l.losing.Store(true)
	l.drop(h)
}

// loseGuess is lose for a failed login that finds the queue full. It closes the name, so closed rules need
// not refuse.
func (l *Limiter) loseGuess(h happened) {
	h.event.closeUncounted(h.who)
	l.drop(h)
}

func (l *Limiter) drop(h happened) {
	h.arrive()
	if n := l.dropped.Due(time.Now()); n > 0 {
		slog.Warn("events are not counted for their rate limits: Redis does not count them in time",
			"event", h.event.name, "events", n)
	}
}

// arrive notes for each value that the event is counted, or lost.
func (h happened) arrive() {
	var scratch [valueMax + addressBytes]byte
	for _, limit := range h.event.limits {
		if value := h.who.value(limit, scratch[:0]); value != nil {
			limit.memory.arrive(value, h.times)
		}
	}
}

// count counts events. When ctx has ended it counts the events that wait, and returns.
func (l *Limiter) count(ctx context.Context) {
	for {
		select {
		case h := <-l.queue:
			l.countOne(h)
			continue
		case h := <-l.guesses:
			l.countOne(h)
			continue
		case <-ctx.Done():
		}
		select {
		case h := <-l.queue:
			l.countOne(h)
		case h := <-l.guesses:
			l.countOne(h)
		default:
			return
		}
	}
}

func (l *Limiter) countOne(h happened) {
	list, err := l.askAbout(h)
	if err == nil && len(list) == 0 {
		return
	}
	var d Decision
	if err == nil {
		d, err = l.decide(h.event, list, call{cost: int64(h.times), happened: true})
	}
	if err != nil || d.Remaining == Unknown {
		l.lose(h)
		return
	}
	l.losing.Store(false)
	if h.event.name == Name(LoginFailed) {
		for _, a := range list { // so many guesses may be on their way
			if a.room > 0 {
				a.limit.memory.leave([]byte(a.value), a.room)
			}
		}
	}
	h.arrive()
}

// askAbout lists the values in which an event counts. It reads the known networks of a name before guesses
// can slow the name down.
func (l *Limiter) askAbout(h happened) (list []asked, err error) {
	trusted := l.isAdmin(h.who)
	if user, found := l.userOf(h.who.Name); found {
		if err := l.hearKnown(user); err != nil {
			return nil, err
		}
		trusted = trusted || l.known.has(user, h.who.Address)
	}
	for _, limit := range h.event.limits {
		value := h.who.value(limit, nil)
		if value == nil {
			continue
		}
		if limit.ofGuesses {
			if seated, err := l.seat(limit, value, trusted); err != nil {
				return nil, err
			} else if !seated {
				continue
			}
		}
		list = append(list, limit.ask(value))
	}
	return list, nil
}
