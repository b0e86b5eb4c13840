package events

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"flashsale/internal/testkit"
)

// One order whose events fail does not hold up the others, and keeps its own order.
func TestOrderIsKept(t *testing.T) {
	s := newSite(t)
	s.set(func(order string, _ int) int {
		if order == sale+"-2" {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	d := newStand(t, s)
	d.tell(1, "held", 2, 3)
	d.deliver()
	testkit.Until(t, "the other order", func() bool { return len(s.of("3")) == 1 })
	d.tell(2, "paying", 2, 3)
	d.tell(3, "paid", 2, 3)
	testkit.Until(t, "the other order again", func() bool { return len(s.of("3")) == 3 })
	s.set(nil)
	d.pass(time.Hour)
	testkit.Until(t, "the order that failed", func() bool { return len(s.of("2")) == 3 })
	want := []string{"1 order.held", "2 order.paying", "3 order.paid"}
	if got := s.of("2"); !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
	for id, times := range s.ids {
		if times != 1 {
			t.Errorf("%s came %d times", id, times)
		}
	}
}

// A receiver that was away gets all, also by the server that goes on.
func TestReceiverWasAway(t *testing.T) {
	s := newSite(t)
	s.set(func(string, int) int { return http.StatusServiceUnavailable })
	d := newStand(t, s)
	users := make([]int, 500)
	for i := range users {
		users[i] = i + 1
	}
	d.tell(1, "held", users...)
	d.deliver()
	testkit.Until(t, "tries", func() bool { return s.tried() > inFlight })
	d.tell(2, "released", users...)
	s.set(nil)
	testkit.Until(t, "all events", func() bool {
		d.pass(time.Minute)
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.ids) == 2*len(users)
	})
	for _, user := range users {
		got := s.of(fmt.Sprint(user))
		if !slices.IsSorted(got) {
			t.Errorf("order %d: %v", user, got)
		}
	}
}

// A receiver that answers 410 gets nothing more, and one that wants some types gets only these.
func TestGoneAndFilter(t *testing.T) {
	s := newSite(t)
	d := newStand(t, s, "order.paid", "stock.")
	d.tell(1, "held", 2)
	d.tell(2, "paid", 2)
	d.raw(nil, "XADD", "log_"+sale, "*", "by", "root", "what", "stock", "food", "1", "add", "5",
		"before", "1", "after", "6")
	d.deliver()
	testkit.Until(t, "the two wanted", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.got) == 2 })
	if got := s.of("2"); !slices.Equal(got, []string{"2 order.paid"}) {
		t.Errorf("got %v", got)
	}
	s.set(func(string, int) int { return http.StatusGone })
	d.tell(3, "paid", 2)
	testkit.Until(t, "off", func() bool {
		var off string
		d.raw(&off, "HGET", "events_"+sale+":to:shop", "off")
		return off != ""
	})
}

// A receiver that asks for time gets nothing before, and a redirect is a failure: the signature is for the
// owner of this URL.
func TestRetryAfter(t *testing.T) {
	s := newSite(t)
	s.header = http.Header{"Retry-After": {"3600"}, "Location": {s.URL + "/elsewhere"}}
	s.set(always(http.StatusFound))
	d := newStand(t, s)
	d.tell(1, "held", 2)
	d.deliver()
	testkit.Until(t, "a try", func() bool { return s.tried() == 1 })
	s.set(nil)
	d.tell(1, "held", 3)
	d.pass(time.Minute)
	testkit.Until(t, "the place", func() bool { return d.state().Behind == 2 })
	if n := s.tried(); n != 1 {
		t.Errorf("%d tries within the time that the receiver has asked for", n)
	}
	d.pass(time.Hour)
	testkit.Until(t, "both", func() bool { return len(s.of("2"))+len(s.of("3")) == 2 })
	var state State
	testkit.Until(t, "the place behind both", func() bool { state = d.state(); return state.Behind == 0 })
	if !state.Oldest.IsZero() || state.Host != s.Listener.Addr().String() {
		t.Errorf("%+v", state)
	}
}

// An event that nobody takes for three days is a dead letter, and the next event of its order goes on. An
// operator sends it again.
func TestDeadLetter(t *testing.T) {
	s := newSite(t)
	s.set(func(_ string, seq int) int {
		if seq == 1 {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	d := newStand(t, s)
	d.tell(1, "held", 2)
	d.tell(2, "paid", 2)
	d.deliver()
	testkit.Until(t, "a dead letter", func() bool { d.pass(time.Hour); return d.state().Dead == 1 })
	testkit.Until(t, "the next event", func() bool { return len(s.of("2")) == 1 })
	d.raw(nil, "HSET", "sale", "id", "nextsale", "previous", sale) // it is a letter of the sale before
	if state := d.state(); state.Dead != 1 {
		t.Errorf("after the next sale has begun: %d dead letters, want 1", state.Dead)
	}
	w := NewWebhooks(d.streams(), d.cfg.Receivers, true)
	letters, err := w.Dead("shop")
	testkit.Must(t, err)
	id := eventID(t, letters[0])
	if _, err := w.Dead("other"); !errors.Is(err, ErrNoWebhook) {
		t.Errorf("another webhook: %v", err)
	}
	if err := w.Resend(t.Context(), "shop", id); !errors.Is(err, ErrRefused) {
		t.Errorf("to a receiver that refuses it: %v", err)
	}
	s.set(nil)
	testkit.Must(t, w.Resend(t.Context(), "shop", id))
	if err := w.Resend(t.Context(), "shop", id); !errors.Is(err, ErrNoLetter) {
		t.Errorf("once more: %v", err)
	}
	if got := s.of("2"); !slices.Equal(got, []string{"2 order.paid", "1 order.held"}) {
		t.Errorf("got %v", got)
	}
	if got := d.counted(); got != [3]int{Delivered: 1, Dead: 1} {
		t.Errorf("counted %v", got)
	}
}

// After a 410 events wait until an operator switches the receiver on.
func TestSwitchedOn(t *testing.T) {
	s := newSite(t)
	s.set(always(http.StatusGone))
	d := newStand(t, s)
	d.tell(1, "held", 2)
	d.deliver()
	testkit.Until(t, "off", func() bool { return d.state().Off })
	d.raw(nil, "HSET", "sale", "id", "nextsale", "previous", sale)
	s.set(nil)
	d.tell(2, "paid", 2)
	testkit.Must(t, NewWebhooks(d.streams(), d.cfg.Receivers, true).SwitchOn("shop"))
	testkit.Until(t, "all events", func() bool { return len(s.of("2")) == 2 })
}

// A server that is killed leaves its lease; another one goes on where it was, or some events before.
func TestAnotherServerGoesOn(t *testing.T) {
	s := newSite(t)
	d := newStand(t, s)
	d.tell(1, "held", 2, 3, 4)
	stop := d.deliver()
	testkit.Until(t, "three events", func() bool { return d.state().Behind == 0 && s.seen() == 3 })
	stop()
	d.cfg.Server = "b"
	d.deliver()
	d.tell(2, "paid", 2, 3, 4)
	d.raw(nil, "DEL", "events_"+sale+":to:shop:lease") // its time is over
	testkit.Until(t, "all events", func() bool { return d.state().Behind == 0 })
	for _, user := range []string{"2", "3", "4"} {
		if got := s.of(user); !slices.Equal(got, []string{"1 order.held", "2 order.paid"}) {
			t.Errorf("order %s: %v", user, got)
		}
	}
}

// A receiver with an address that is not public gets nothing, unless that is allowed.
func TestPrivateAddress(t *testing.T) {
	s := newSite(t)
	d := newStand(t, s)
	d.cfg.Private = false
	d.tell(1, "held", 2)
	d.deliver()
	testkit.Until(t, "a failure", func() bool {
		var tries string
		d.raw(&tries, "HLEN", "events_"+sale+":to:shop")
		return tries == "4" // cursor, passed, from, and the event that is tried again
	})
	if n := s.tried(); n != 0 {
		t.Errorf("%d posts to a private address", n)
	}
}

// The stream of a sale that has ended is delivered to its end, and so is what comes late. Its places expire
// with it.
func TestEndedSale(t *testing.T) {
	s := newSite(t)
	d := newStand(t, s)
	d.tell(1, "held", 2, 3)
	d.cfg.Ended = true
	d.deliver()
	testkit.Until(t, "two events", func() bool { return s.seen() == 2 && d.state().Behind == 0 })
	stream := d.streams().list[1]
	testkit.Must(t, stream.expire(d.cfg.Receivers))
	d.tell(2, "paid", 2)
	testkit.Until(t, "a late event", func() bool { return s.seen() == 3 && d.state().Behind == 0 })
	for _, key := range []string{stream.key, stream.placeKey("shop")} {
		var seconds int
		if d.raw(&seconds, "TTL", key); seconds < 1 {
			t.Errorf("%s stays for ever", key)
		}
	}
}

// Old events that all have are cut off, others only over the cap: these are lost.
func TestTrim(t *testing.T) {
	s := newSite(t)
	d := newStand(t, s)
	stream := d.streams().list[1]
	trim := func(keep time.Duration, cap, want int) {
		t.Helper()
		for more := true; more; {
			var err error
			more, err = stream.trim(d.cfg.Receivers, keep, cap)
			testkit.Must(t, err)
		}
		var left string
		if d.raw(&left, "XLEN", "events_"+sale); left != fmt.Sprint(want) {
			t.Errorf("%s events are left, want %d", left, want)
		}
	}
	users := make([]int, 2*trimPage)
	for i := range users {
		users[i] = i + 2
	}
	d.tell(1, "held", users...)
	trim(-time.Hour, 1_000_000, len(users)) // nobody has them
	stop := d.deliver()
	testkit.Until(t, "all", func() bool { return d.state().Behind == 0 })
	stop()
	trim(time.Hour, 1_000_000, len(users)) // young
	trim(-time.Hour, 1_000_000, 0)
	d.tell(2, "paid", users[:5]...)
	trim(time.Hour, 2, 2)
	if state := d.state(); state.Behind != 2 {
		t.Errorf("%d events behind, want 2", state.Behind)
	}
	d.deliver()
	testkit.Until(t, "the rest", func() bool { return d.state().Behind == 0 })
	if want := [3]int{Delivered: len(users) + 2, Lost: 3}; d.counted() != want {
		t.Errorf("counted %v, want %v", d.counted(), want)
	}
}

// BenchmarkCatchUp delivers 100,000 events to a receiver that was away.
func BenchmarkCatchUp(b *testing.B) {
	const events, orders = 100_000, 25_000
	s := newSite(b)
	d := newStand(b, s)
	for seq := 1; seq <= events/orders; seq++ {
		redisFill(b, d, seq, orders)
	}
	for b.Loop() {
		d.raw(nil, "DEL", "events_"+sale+":to:shop", "events_"+sale+":to:shop:lease")
		stop := d.deliver()
		testkit.Until(b, "all events", func() bool { return d.state().Behind == 0 })
		stop()
	}
	b.ReportMetric(float64(events*b.N)/b.Elapsed().Seconds(), "events/s")
}
