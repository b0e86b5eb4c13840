package repeats

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/roomtest"
	"flashsale/redisx/redistest"
)

// bot is a Counter and a running Keeper on the clock of Redis.
func bot(t *testing.T, vk *fakeVK) (c *Counter, cfg Config, stop func()) {
	cfg = config(roomtest.Redis(t), nil)
	cfg.Now = nil
	return counter(t, cfg), cfg, testkit.Background(t, NewKeeper(cfg, vk.settings()).Run)
}

func (c *Counter) receive(t *testing.T, m Message) {
	t.Helper()
	testkit.Must(t, c.Receive(m))
}

// left is how many replies are in the queue.
func (c *Counter) left(t *testing.T) int {
	t.Helper()
	queue := queueOf(0)
	due := roomtest.Ask[int](t, c.redis, "ZCARD", queue.due)
	replies := roomtest.Ask[int](t, c.redis, "HLEN", queue.replies)
	if due != replies {
		t.Errorf("%d replies are due, %d are there", due, replies) // two commands: only while nothing changes
	}
	return replies
}

func (c *Counter) awaitLeft(t *testing.T, want int) {
	t.Helper()
	testkit.Until(t, fmt.Sprint(want, " replies in the queue"), func() bool {
		return roomtest.Ask[int](t, c.redis, "HLEN", queueOf(0).replies) == want
	})
}

func TestReplies(t *testing.T) {
	vk := newFakeVK(t)
	c, _, _ := bot(t, vk)
	for i, m := range []Message{{0, "a", 11, "hi"}, {0, "b", 12, "hi"}, {0, "b", 12, "hi"},
		{0, "c", 2000000001, "ho"}} {
		c.receive(t, m)
		vk.await(t, min(i+1, 2)) // one after the other
	}
	vk.await(t, 3)
	c.awaitLeft(t, 0)
	messages, ids := vk.seen()
	if want := []string{"11 0", "12 1", "2000000001 0"}; !slices.Equal(messages, want) {
		t.Errorf("sent %q, want %q", messages, want)
	}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 3 || slices.Contains(ids, "0") {
		t.Errorf("random ids %q", ids)
	}
}

// What may pass is tried again with the same random id; what cannot is thrown away.
func TestRetries(t *testing.T) {
	vk := newFakeVK(t)
	vk.answers = []string{
		`{"error":{"error_code":6,"error_msg":"Too many requests per second"}}`, "500", taken,
		`{"error":{"error_code":901,"error_msg":"Can't send messages for users without permission"}}`,
	}
	c, _, _ := bot(t, vk)
	logs := testkit.CaptureLog(t)
	c.receive(t, Message{0, "a", 11, "hi"})
	vk.await(t, 3)
	c.awaitLeft(t, 0)
	c.receive(t, Message{0, "b", 12, "hi"})
	vk.await(t, 4)
	c.awaitLeft(t, 0)
	messages, ids := vk.seen()
	if want := []string{"11 0", "11 0", "11 0", "12 1"}; !slices.Equal(messages, want) {
		t.Errorf("sent %q, want %q", messages, want)
	}
	if ids[0] != ids[1] || ids[1] != ids[2] {
		t.Errorf("random ids %q", ids)
	}
	first, second := vk.times[1].Sub(vk.times[0]), vk.times[2].Sub(vk.times[1])
	if first < retryMin || second < 2*retryMin {
		t.Errorf("waited %v and %v between the attempts", first, second)
	}
	text := logs.String()
	for _, want := range []string{"they wait", "are sent to VK again", "thrown away", "peer=12",
		"event=" + c.names.event(0, "b")} {
		if strings.Count(text, want) != 1 {
			t.Errorf("log without, or not once, %q: %s", want, text)
		}
	}
	if strings.Contains(text, "group token") || strings.Contains(text, "level=ERROR") {
		t.Errorf("log: %s", text)
	}
}

// VK is up when it has taken the last reply or refused it for good, whatever the log had room for.
func TestUp(t *testing.T) {
	testkit.KeepLog(t)
	vk := newFakeVK(t)
	k := keeper(t, config(roomtest.Redis(t), newClock()), vk.settings())
	for _, test := range []struct {
		answer string
		up     bool
	}{
		{"500", false}, {taken, true}, {"500", false},
		{`{"error":{"error_code":901,"error_msg":"Can't send messages for users without permission"}}`, true},
	} {
		vk.answers = []string{test.answer}
		if k.sender().send(t.Context(), &waiting{event: "a", peer: 11}); k.Up() != test.up {
			t.Errorf("up is %v after %s", k.Up(), test.answer)
		}
	}
	if k.Regroup(nil); !k.Up() {
		t.Error("not up without a bot")
	}
}

// A reply that cannot be sent for a day does not fill the queue for ever.
func TestLastAttempt(t *testing.T) {
	total := time.Duration(0)
	for attempts := 1; attempts < attemptsMax; attempts++ {
		total += background.Delay(attempts, retryMin, retryMax)
	}
	if total < 24*time.Hour || total > 25*time.Hour {
		t.Errorf("%d attempts take %v", attemptsMax, total)
	}
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		vk := newFakeVK(t)
		vk.answers = []string{"500", "500"}
		c, s := counter(t, cfg), keeper(t, cfg, vk.settings()).sender()
		logs := testkit.CaptureLog(t)
		c.receive(t, Message{0, "a", 11, "hi"})
		r, _ := s.take()
		r.attempts = attemptsMax - 2
		for _, want := range []int{1, 0} {
			s.send(context.Background(), r)
			if n := c.left(t); n != want {
				t.Errorf("%d replies in the queue, want %d", n, want)
			}
		}
		if text := logs.String(); strings.Count(text, "for a day") != 1 || !strings.Contains(text, "peer=11") {
			t.Errorf("log: %s", text)
		}
	})
}

// Calls that VK answers late do not keep the others from their rate.
func TestSlowVK(t *testing.T) {
	vk := newFakeVK(t)
	vk.hold = make(chan struct{})
	defer close(vk.hold)
	c, _, _ := bot(t, vk)
	const replies = 10 // the queue has room for so many
	for i := range replies {
		c.receive(t, Message{0, fmt.Sprint("event ", i), 1, "hi"})
	}
	vk.await(t, replies)
}

// Two servers together keep VK's limit, and each reply goes out once.
func TestRateOfAllServers(t *testing.T) {
	vk := newFakeVK(t)
	c, cfg, _ := bot(t, vk)
	testkit.Background(t, NewKeeper(cfg, vk.settings()).Run)
	const replies = 10
	begin := time.Now()
	for i := range replies {
		c.receive(t, Message{0, fmt.Sprint("event ", i), int64(i), "hi"})
	}
	vk.await(t, replies)
	c.awaitLeft(t, 0)
	messages, _ := vk.seen()
	if len(messages) != replies {
		t.Errorf("%d calls for %d replies", len(messages), replies)
	}
	// Replies leave in steps of 50 ms by the clock of Redis. Each of them may arrive late.
	if took := vk.times[replies-1].Sub(begin); took < (replies-1)*50*time.Millisecond {
		t.Errorf("%d replies in %v: too fast", replies, took)
	}
}

// A server that stops gives back what it is sending, and the next one sends it.
func TestStopInMidSending(t *testing.T) {
	vk := newFakeVK(t)
	vk.hold = make(chan struct{})
	c, cfg, stop := bot(t, vk)
	c.receive(t, Message{0, "a", 11, "hi"})
	vk.await(t, 1)
	stop()
	if n := c.left(t); n != 1 {
		t.Fatalf("%d replies in the queue", n)
	}
	vk.mu.Lock()
	close(vk.hold)
	vk.hold = nil
	vk.mu.Unlock()
	testkit.Background(t, NewKeeper(cfg, vk.settings()).Run)
	vk.await(t, 2)
	c.awaitLeft(t, 0)
	if _, ids := vk.seen(); ids[0] != ids[1] {
		t.Errorf("random ids %q", ids)
	}
}

// What a dead server had taken is due again after the lease, not before.
func TestLease(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		c, s := counter(t, cfg), keeper(t, cfg, VK{Groups: []Group{{Token: "x"}}}).sender()
		c.receive(t, Message{0, "a", 11, "hi"})
		first, _ := s.take()
		if first == nil || first.String() != "11:0:0" {
			t.Fatalf("took %v", first)
		}
		clock.Add(lease - time.Millisecond)
		if r, wait := s.take(); r != nil || wait != time.Millisecond {
			t.Errorf("took %v, wait %v", r, wait)
		}
		clock.Add(time.Millisecond)
		second, _ := s.take()
		if second == nil || second.event != first.event {
			t.Fatalf("took %v", second)
		}
		s.settle(second, "", 0)
		s.settle(first, first.String(), 0) // the dead one was only slow: what has left stays away
		if n := c.left(t); n != 0 {
			t.Errorf("%d replies in the queue", n)
		}
		c.receive(t, Message{0, "b", 12, "hi"})
		c.receive(t, Message{0, "c", 13, "hi"})
		clock.Add(time.Second)
		if r, _ := s.take(); r == nil {
			t.Error("nothing to take")
		}
		if r, wait := s.take(); r != nil || wait != 50*time.Millisecond {
			t.Errorf("took %v, wait %v: VK's limit", r, wait)
		}
	})
}

// An entry that is no reply does not hold up the others.
func TestStrangeEntries(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, clock *roomtest.Clock) {
		c, s := counter(t, cfg), keeper(t, cfg, VK{Groups: []Group{{Token: "x"}}}).sender()
		roomtest.Ask[int](t, c.redis, "ZADD", queueOf(0).due, "1", "no reply", "2", "bad reply", "3", "bad peer",
			"4", "bad attempts")
		roomtest.Ask[int](t, c.redis, "HSET", queueOf(0).replies, "bad reply", "x", "bad peer", "x:1:1",
			"bad attempts", "1:1:x")
		c.receive(t, Message{0, "a", 11, "hi"})
		var r *waiting
		for i := 0; r == nil && i < 10; i++ {
			r, _ = s.take()
			clock.Add(time.Second)
		}
		if r == nil || r.peer != 11 || c.left(t) != 1 {
			t.Errorf("took %v, %d left", r, c.left(t))
		}
	})
}

// While Redis is away nothing is taken, and a count is an error.
func TestRedisAway(t *testing.T) {
	server := redistest.New(t, "--appendonly", "yes", "--appendfsync", "always")
	cfg := config(roomtest.Of(server), newClock())
	c, s := counter(t, cfg), keeper(t, cfg, VK{Groups: []Group{{Token: "x"}}}).sender()
	c.receive(t, Message{0, "a", 11, "hi"})
	server.Kill(t)
	testkit.Until(t, "error of a count", func() bool { _, err := c.Count("hi"); return err != nil })
	if r, wait := s.take(); r != nil || wait != idleWait {
		t.Errorf("took %v, wait %v", r, wait)
	}
	if err := c.Receive(Message{0, "b", 12, "hi"}); err == nil {
		t.Error("received without Redis")
	}
	server.Restart(t)
	testkit.Until(t, "connections", func() bool { return c.redis.Up() && s.redis.Up() })
	if r, _ := s.take(); r == nil || r.peer != 11 {
		t.Errorf("took %v: what was received must be there", r)
	}
	c.receive(t, Message{0, "a", 11, "hi"})
	c.expect(t, "hi", 1)
}
