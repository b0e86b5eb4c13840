package events

import (
	"errors"
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
		"x": ErrBadCursor, sale + ".1": ErrBadCursor, ".0-0.0-0": ErrBadCursor,
		sale + ".0-0": ErrGone, "other.0-0.0-0": ErrGone, sale + ".0-0.0-0.0-0": ErrGone,
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
	if _, err := r.list[1].trim(nil, time.Hour, 2); err != nil {
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
