package events

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
)

// reading reads until nothing is left, a page at a time, and returns the types and the last cursor.
func reading(tb testing.TB, r *Reader, after string, limit int) (types []string, next string) {
	tb.Helper()
	for next = after; ; {
		page, err := r.Read(next, 0, limit)
		testkit.Must(tb, err)
		if next = page.Next; len(page.Events) == 0 {
			return types, next
		}
		for _, e := range page.Events {
			types = append(types, e.Type)
		}
	}
}

// All events come once, whatever the pages; a cursor goes on behind them.
func TestRead(t *testing.T) {
	d := newStand(t, newSite(t))
	d.raw(nil, "XADD", "log_"+sale, "1-1", "by", "root", "what", "order", "user", "2")
	d.tell(1, "held", 2, 3)
	d.raw(nil, "XADD", "log_"+sale, "1-2", "by", "clock", "what", "sold_out")
	d.tell(2, "paid", 2)
	r := NewReader(d.streams())
	const want = "sale.sold_out order.held order.held order.paid"
	for _, limit := range []int{1, 2, 3, 100} {
		got, next := reading(t, r, "", limit)
		if text := strings.Join(got, " "); text != want {
			t.Errorf("by %d: %s, want %s", limit, text, want)
		}
		if got, _ := reading(t, r, next, limit); got != nil {
			t.Errorf("by %d: %v come twice", limit, got)
		}
	}
	for text, want := range map[string]error{
		"x": ErrBadCursor, sale + ".": ErrBadCursor, sale + ".0-": ErrBadCursor, ".0.0": ErrBadCursor,
		sale + ".0": ErrGone, "other.0.0": ErrGone, sale + ".0.0.0": ErrGone, sale + ".0.0~x": ErrBadCursor,
	} {
		if _, err := r.Read(text, 0, 1); !errors.Is(err, want) {
			t.Errorf("cursor %q: %v, want %v", text, err, want)
		}
	}
}

// A call waits for the next event, for its time at most, and not beyond the end of the server.
func TestReadWaits(t *testing.T) {
	d := newStand(t, newSite(t))
	r := NewReader(d.streams())
	testkit.Background(t, r.Run)
	_, next := reading(t, r, "", 10)
	page, err := r.Read(next, time.Millisecond, 10)
	if err != nil || len(page.Events) > 0 || page.Next != next {
		t.Errorf("without events: %+v, %v", page, err)
	}
	got := make(chan Page)
	read := func() {
		page, err := r.Read(next, time.Hour, 10)
		testkit.Must(t, err)
		got <- page
	}
	go read()
	testkit.Until(t, "a call that waits", func() bool { return r.waiting.Load() == 1 })
	d.tell(1, "held", 2)
	page = <-got
	if len(page.Events) != 1 || page.Events[0].Type != "order.held" {
		t.Errorf("waited for %+v", page)
	}
	next = page.Next
	go read()
	testkit.Until(t, "a call that waits", func() bool { return r.waiting.Load() == 1 })
	r.End()
	if page := <-got; len(page.Events) > 0 || page.Next != next {
		t.Errorf("at the end: %+v", page)
	}
}

// Who has missed events that were cut off is told so.
func TestReadGone(t *testing.T) {
	d := newStand(t, newSite(t))
	r := NewReader(d.streams())
	_, before := reading(t, r, "", 10)
	d.tell(1, "held", 2, 3)
	_, behind := reading(t, r, "", 10)
	d.tell(2, "paid", 2, 3)
	if _, err := r.told.list[1].trim(nil, time.Hour, 2); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(before, 0, 10); !errors.Is(err, ErrGone) {
		t.Errorf("before the cut: %v, want %v", err, ErrGone)
	}
	for _, after := range []string{"", behind} {
		if got, _ := reading(t, r, after, 10); strings.Join(got, " ") != "order.paid order.paid" {
			t.Errorf("after %q: %v", after, got)
		}
	}
}

// Who reads by a cursor of a sale that has ended gets the rest of it, what comes late, and the next sale.
func TestReadNextSale(t *testing.T) {
	d := newStand(t, newSite(t))
	r := NewReader(d.streams())
	testkit.Background(t, r.Run)
	want := func(after, want string) (next string) {
		t.Helper()
		got, next := reading(t, r, after, 1)
		slices.Sort(got) // events of one millisecond
		if text := strings.Join(got, " "); text != want {
			t.Errorf("after %q: %s, want %s", after, text, want)
		}
		return next
	}
	d.tell(1, "held", 2)
	before := want("", "order.held")
	d.tell(2, "paid", 2)
	d.raw(nil, "HSET", "sale", "id", "nextsale", "previous", sale)
	d.raw(nil, "XADD", "log_nextsale", "1-1", "by", "clock", "what", "sold_out")
	after := want(before, "order.paid sale.sold_out")
	d.tell(3, "refund_due", 2)
	last := want(after, "order.refund_due")
	want(before, "order.paid order.refund_due sale.sold_out")
	want("", "order.held order.paid order.refund_due sale.sold_out")
	want(last, "")

	waited := make(chan Page)
	go func() {
		page, err := r.Read(last, time.Hour, 10)
		testkit.Must(t, err)
		waited <- page
	}()
	testkit.Until(t, "a call that waits", func() bool { return r.waiting.Load() == 1 })
	d.raw(nil, "HSET", "sale", "id", "thirdsale", "previous", "nextsale "+sale)
	d.raw(nil, "XADD", "log_thirdsale", "1-1", "by", "clock", "what", "sold_out")
	if page := <-waited; len(page.Events) != 1 || !strings.HasPrefix(page.Next, "thirdsale.1-1.0~nextsale.") {
		t.Errorf("waited for %+v", page)
	}

	// Sales that are too old are left out, the last one of a cursor must be known.
	old := strings.Join([]string{"2", "3", "4", "5", "6", "7", "8", "nextsale"}, " ")
	d.raw(nil, "HSET", "sale", "previous", "1 "+old)
	if next := want(last, "sale.sold_out"); strings.Contains(next, sale) {
		t.Errorf("the cursor still names a sale that is too old: %s", next)
	}
	d.raw(nil, "HSET", "sale", "previous", "0 1 "+old)
	if _, err := r.Read(last, 0, 1); !errors.Is(err, ErrGone) {
		t.Errorf("a sale that is too old: %v, want %v", err, ErrGone)
	}
}

// The events of a sale that has ended expire some days after the last one; only who has missed some is told
// so.
func TestReadExpired(t *testing.T) {
	d := newStand(t, newSite(t))
	r := NewReader(d.streams())
	stream := r.told.list[1]
	expire := func() (seconds int) {
		t.Helper()
		testkit.Must(t, stream.expire(d.cfg.Receivers))
		d.raw(&seconds, "TTL", stream.key)
		return seconds
	}
	_, none := reading(t, r, "", 10)
	d.tell(1, "held", 2)
	_, all := reading(t, r, "", 10)
	if seconds := expire(); seconds < 345_000 || seconds > 345_600 {
		t.Errorf("the stream stays for %d s", seconds)
	}
	d.raw(nil, "EXPIRE", stream.key, "100")
	if seconds := expire(); seconds > 100 {
		t.Errorf("the stream without a new event stays for %d s", seconds)
	}
	d.tell(2, "paid", 2)
	d.raw(nil, "PERSIST", stream.key)
	if seconds := expire(); seconds < 345_000 {
		t.Errorf("the stream with a new event stays for %d s", seconds)
	}
	_, both := reading(t, r, all, 10)
	d.raw(nil, "DEL", stream.key) // it expires
	check := func(events int) {
		t.Helper()
		for after, want := range map[string]error{none: ErrGone, all: ErrGone, both: nil, "": nil} {
			page, err := r.Read(after, 0, 10)
			if !errors.Is(err, want) || err == nil && len(page.Events) != events {
				t.Errorf("after %q: %d events, %v, want %v", after, len(page.Events), err, want)
			}
		}
	}
	check(0)
	d.tell(3, "held", 2)
	check(1)
	expire()
	check(1)
	if state := d.state(); state.Behind != 1 {
		t.Errorf("%d events behind, want 1", state.Behind)
	}
}
