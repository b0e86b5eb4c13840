package pipeline

import (
	"errors"
	"testing"
	"time"

	"flashsale/internal/testkit"
)

// keep notes full batches that took this long, until the pace is theirs.
func (p *pace) keep(took time.Duration) {
	for range paceBatches {
		p.note(took)
	}
}

// The pace is that of the fastest of the last full batches: a slow write among them does not count, and
// Redis is slow when all of them were.
func TestPace(t *testing.T) {
	const quick, slow = time.Millisecond, time.Second
	for name, tc := range map[string]struct {
		took []time.Duration
		want time.Duration
	}{
		"nothing is known":     {nil, 0},
		"too little is known":  {[]time.Duration{slow, slow, slow}, 0},
		"slow":                 {[]time.Duration{slow, slow + 1, slow + 2, slow + 3}, slow},
		"one slow write":       {[]time.Duration{quick, quick, quick, slow}, quick},
		"three slow writes":    {[]time.Duration{quick, slow, slow, slow}, quick},
		"slow by now":          {[]time.Duration{quick, slow, slow, slow, slow}, slow},
		"quick again":          {[]time.Duration{slow, slow, slow, slow, quick}, quick},
		"quick again for long": {[]time.Duration{slow, slow, slow, slow, quick, quick, quick, quick}, quick},
	} {
		var p pace
		for _, took := range tc.took {
			p.note(took)
		}
		if got := time.Duration(p.fastest.Load()); got != tc.want {
			t.Errorf("%s: %v a batch, want %v", name, got, tc.want)
		}
	}
}

// A call before which more batches wait than can be carried out in its whole time is refused at once, and no
// other one is.
func TestLateCallRefused(t *testing.T) {
	testkit.KeepLog(t)
	const second = time.Second
	for _, tc := range []struct {
		waiting int
		pace    time.Duration
		late    bool
	}{
		{0, time.Minute, false},
		{batchMax - 1, time.Minute, false}, // they are one batch: how long it will take is not known
		{batchMax, second + 1, true},
		{batchMax, second, false},
		{batchMax, second * 3 / 4, false},
		{QueueMax / 2, second / 16, false},
		{QueueMax / 2, second/16 + 1, true},
		{QueueMax - 1, 0, false},
		{QueueMax, 0, true},
	} {
		for _, loop := range []Loop{nil, newFakeLoop()} {
			c := New(Config{Timeout: second}, Options{Loop: loop})
			c.up.Store(true)
			c.pace.keep(tc.pace)
			for range tc.waiting {
				if loop == nil {
					c.queue <- NewCall()
				} else {
					c.loop.waiting = append(c.loop.waiting, NewCall())
				}
			}
			if sent := c.Send(NewCall(), wakes{}); sent == tc.late {
				t.Errorf("%d wait, %v a batch, on a loop %v: sent %v, want %v",
					tc.waiting, tc.pace, loop != nil, sent, !tc.late)
			}
		}
	}
}

// A call that has waited for its whole time is refused, and does not take the deadline of the others.
func TestExpiredCallRefused(t *testing.T) {
	testkit.KeepLog(t)
	c := New(defaults, Options{})
	stale, fresh := NewCall(), NewCall()
	stale.completion, fresh.completion = wakes{}, wakes{}
	stale.queued = time.Now().Add(-defaults.Timeout)
	fresh.queued = time.Now()
	c.queue <- fresh
	b := newBatch(nil)
	c.collect(b, stale)
	if <-stale.done; !errors.Is(stale.err, ErrUnavailable) {
		t.Errorf("expired call: %v, want ErrUnavailable", stale.err)
	}
	if len(b.calls) != 1 || b.calls[0] != fresh {
		t.Errorf("batch %v, want the fresh call", b.calls)
	}
}

func TestReplyDeadline(t *testing.T) {
	now := time.Now()
	for _, tc := range []struct{ timeout, waited, want time.Duration }{
		{3 * time.Second, 0, 3 * time.Second},
		{3 * time.Second, time.Second, 2 * time.Second},
		{3 * time.Second, 2700 * time.Millisecond, replyGrace},
		{3 * time.Second, 2999 * time.Millisecond, replyGrace},
		{time.Second, 0, time.Second},
		{100 * time.Millisecond, 0, 100 * time.Millisecond},
		{100 * time.Millisecond, 99 * time.Millisecond, 100 * time.Millisecond},
	} {
		got := replyDeadline(now.Add(-tc.waited), now, tc.timeout).Sub(now)
		if got != tc.want {
			t.Errorf("timeout %v, oldest call %v old: %v from now, want %v", tc.timeout, tc.waited, got, tc.want)
		}
		if answered := tc.waited + got; answered > tc.timeout+replyGrace {
			t.Errorf("timeout %v, oldest call %v old: answered after %v", tc.timeout, tc.waited, answered)
		}
	}
}
