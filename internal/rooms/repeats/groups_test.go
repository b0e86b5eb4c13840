package repeats

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/redistest"
)

// A token that VK refuses stops the replies of its group alone. They wait, at most parkedMax of them,
// without an attempt each; further messages are counted and get none. A new token sends what waits.
func TestRefusedToken(t *testing.T) {
	vk := newFakeVK(t)
	cfg := config(roomtest.Redis(t), nil)
	cfg.Now, cfg.RepliesMax = nil, 3
	c := counter(t, cfg)
	logs := testkit.CaptureLog(t)
	settings := vk.settings()
	settings.Groups = []Group{{7, "revoked"}, {8, "group token"}}
	k := NewKeeper(cfg, settings)
	testkit.Background(t, k.Run)
	c.receive(t, Message{7, "a", 11, "hi"})
	testkit.Until(t, "refused token", func() bool { return k.Refused()[7] })
	mark := func() bool { return roomtest.Ask[int](t, c.redis, "EXISTS", queueOf(7).refused) == 1 }
	testkit.Until(t, "mark of the refused token", mark)
	c.receive(t, Message{7, "b", 12, "hi"})
	c.receive(t, Message{7, "c", 13, "hi"})
	if err := c.Receive(Message{7, "d", 14, "hi"}); err != ErrNoReply {
		t.Errorf("a message to a group with enough parked replies: %v, want %v", err, ErrNoReply)
	}
	if err := c.Receive(Message{7, "d", 14, "hi"}); err != nil {
		t.Errorf("the same event again: %v", err)
	}
	c.receive(t, Message{8, "e", 15, "hi"})
	vk.await(t, 2)
	c.expect(t, "hi", 5) // that without a reply too, and once
	if messages, _ := vk.seen(); !slices.Equal(messages, []string{"11 0", "15 4"}) {
		t.Errorf("sent %q", messages)
	}
	if refused := k.Refused(); !refused[7] || refused[8] {
		t.Errorf("refused tokens %v", refused)
	}
	reply := roomtest.Ask[string](t, c.redis, "HGET", queueOf(7).replies, c.names.event(7, "a"))
	if reply != "11:0:0" {
		t.Errorf("the parked reply is %q: an attempt is counted", reply)
	}
	if n, err := k.Waiting(); n != 3 || err != nil {
		t.Errorf("%d replies wait, %v", n, err)
	}
	k.Regroup([]Group{{7, "group token"}, {8, "group token"}})
	vk.await(t, 5)
	testkit.Until(t, "empty queue", func() bool { n, err := k.Waiting(); return n == 0 && err == nil })
	messages, _ := vk.seen()
	messages = slices.Sorted(slices.Values(messages[2:]))
	if !slices.Equal(messages, []string{"11 0", "12 1", "13 2"}) || k.Refused()[7] {
		t.Errorf("after the new token %q", messages)
	}
	text := logs.String()
	if strings.Count(text, "VK refuses the token of a group") != 1 || !strings.Contains(text, "group=7") ||
		strings.Contains(text, "revoked\"") {
		t.Errorf("log: %s", text)
	}
}

// A token that VK takes again needs no help.
func TestTokenRecovers(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		vk := newFakeVK(t)
		vk.answers = []string{`{"error":{"error_code":5,"error_msg":"x"}}`}
		c, s := counter(t, cfg), keeper(t, cfg, vk.settings()).sender()
		c.receive(t, Message{0, "a", 11, "hi"})
		for _, want := range []bool{true, false} {
			r, _ := s.take()
			s.send(t.Context(), r)
			if s.refused.Load() != want || c.left(t) == 1 != want {
				t.Errorf("refused %v, %d left; want refused %v", s.refused.Load(), c.left(t), want)
			}
			clock.Add(lease)
		}
	})
}

// Each group has a queue and a pace of its own.
func TestQueuesOfGroups(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		cfg.RepliesMax = 1
		c := counter(t, cfg)
		k := keeper(t, cfg, VK{Groups: []Group{{7, "x"}, {8, "y"}}})
		c.receive(t, Message{7, "a", 11, "hi"})
		if err := c.Receive(Message{7, "b", 12, "hi"}); err != ErrQueueFull {
			t.Errorf("a full queue: %v", err)
		}
		c.receive(t, Message{8, "a", 13, "hi"}) // the same name, another event
		for i, want := range []string{"11:0:0", "13:1:0"} {
			if r, wait := (*k.senders.Load())[i].take(); r == nil || r.String() != want {
				t.Errorf("took %v, wait %v, want %s", r, wait, want)
			}
		}
	})
}

// A message without a text is answered and not counted.
func TestMessageWithoutText(t *testing.T) {
	vk := newFakeVK(t)
	c, _, _ := bot(t, vk)
	c.receive(t, Message{0, "a", 11, ""})
	c.receive(t, Message{0, "a", 11, ""})
	c.awaitLeft(t, 0)
	want := "11 " + (&waiting{reply: noText}).text()
	if messages, _ := vk.seen(); !slices.Equal(messages, []string{want}) {
		t.Errorf("sent %q, want %q", messages, want)
	}
	c.expect(t, "", 0)
}

// Nothing that is sent to the room makes it hold more than BytesMax and the replies that may wait: single
// texts, popular ones, those that are renewed just before they are over, events with and without a text.
func TestMemoryBound(t *testing.T) {
	server := redistest.Start(t)
	clock := newClock()
	cfg := config(roomtest.Of(server), clock)
	cfg.BytesMax, cfg.RepliesMax, cfg.Window = 512<<10, 100, time.Hour
	c := counter(t, cfg)
	records := int(cfg.BytesMax / recordBytes)
	held := func(what string) {
		t.Helper()
		bytes := 0
		for _, key := range roomtest.Ask[[]string](t, c.redis, "KEYS", "*") {
			bytes += roomtest.Ask[int](t, c.redis, "MEMORY", "USAGE", key, "SAMPLES", "0")
			bytes += 16 // its place in the table
		}
		bound := int(cfg.BytesMax) + cfg.RepliesMax*recordBytes
		t.Logf("%s: %d bytes, bound %d", what, bytes, bound)
		if bytes > bound {
			t.Errorf("%s: the room holds %d bytes, bound %d", what, bytes, bound)
		}
	}
	fill := func(text func(i int) string, step time.Duration) (full int) {
		for i := range 2 * records {
			if _, err := c.Count(text(i)); err == ErrNotRecorded {
				full++
			} else {
				testkit.Must(t, err)
			}
			clock.Add(step)
		}
		return full
	}
	if full := fill(func(i int) string { return fmt.Sprint("text ", i) }, 0); full != records {
		t.Errorf("%d texts of %d did not fit, want half", full, 2*records)
	}
	held("single texts")
	clock.Add(time.Second)
	c.expectFull(t, "text 0", 1) // it is known, and counts no further
	c.expectFull(t, "text 0", 1)
	c.expectFull(t, "new", 0)
	for i := range 200 {
		err := c.Receive(Message{0, fmt.Sprint("event ", i), int64(i), fmt.Sprint("late ", i)})
		if want := map[bool]error{true: ErrNotRecorded, false: ErrQueueFull}[i < cfg.RepliesMax]; err != want {
			t.Fatalf("event %d: %v, want %v", i, err, want)
		}
	}
	held("events of a full room")

	clock.Add(cfg.Window + 5*time.Minute) // the clock of the test ends nothing in Redis: by hand
	for _, text := range roomtest.Ask[[]string](t, c.redis, "KEYS", textPrefix+"*") {
		roomtest.Ask[int](t, c.redis, "DEL", text)
	}
	c.expect(t, "text 0", 0) // there is room again
	if full := fill(func(i int) string { return fmt.Sprint("popular ", i%3) }, 2*time.Second); full != 0 {
		t.Errorf("%d texts that came 2 s apart did not fit: the window has fewer", full)
	}
	held("popular texts")
	fill(func(i int) string { return fmt.Sprint("group ", i%40) }, 50*time.Millisecond)
	held("texts of many entries")
	clock.Add(cfg.Window - time.Minute)
	fill(func(i int) string { return fmt.Sprint("group ", i%40) }, 500*time.Millisecond)
	held("the same, renewed before they were over")

	roomtest.Ask[string](t, c.redis, "FLUSHALL")
	refused := 0
	for i := range records {
		roomtest.Ask[int](t, c.redis, "DEL", queueOf(0).due, queueOf(0).replies)
		m := Message{0, fmt.Sprint("event ", i), 1, fmt.Sprint("text ", i)}
		if err := c.Receive(m); err == ErrNotRecorded {
			refused++
		}
	}
	if refused != (records+1)/2 { // each takes a mark and a text
		t.Errorf("%d events of %d were not recorded, want half", refused, records)
	}
	held("events")
}

// expectFull counts a text that must not be recorded.
func (c *Counter) expectFull(t *testing.T, text string, want int64) {
	t.Helper()
	if n, err := c.Count(text); n != want || err != ErrNotRecorded {
		t.Errorf("%q came %d times (%v), want %d and %v", text, n, err, want, ErrNotRecorded)
	}
}

// What was recorded counts until it is over, and no longer, also where the window is another one meanwhile.
func TestRoomAgain(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		cfg.Window, cfg.BytesMax = time.Hour, 2*recordBytes
		c := counter(t, cfg)
		c.expect(t, "a", 0)
		c.expect(t, "a", 1) // the same second: no further record
		clock.Add(30 * time.Minute)
		c.expect(t, "b", 0)
		c.expectFull(t, "c", 0)
		clock.Add(32*time.Minute + time.Hour/slots)
		c.expect(t, "c", 0) // the record of a is over
		c.expectFull(t, "d", 0)
		cfg.Window = time.Minute
		other := counter(t, cfg)
		other.expectFull(t, "d", 0)
		clock.Add(30*time.Minute + time.Hour/slots)
		other.expect(t, "d", 0)
		clock.Add(24 * time.Hour)
		other.expect(t, "e", 0)
		left := roomtest.Ask[map[string]string](t, c.redis, "HGETALL", recordsKey)
		if len(left) != 3 || left["total"] != "1" {
			t.Errorf("records %v, want one slot with one record", left)
		}
	})
}

const slots = 64 // of record.lua
