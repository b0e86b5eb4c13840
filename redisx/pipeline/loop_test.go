package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"flashsale/internal/observe/figures"
	"flashsale/internal/serve/rawio"
	"flashsale/internal/testkit"
)

// Replies come in any pieces; the calls are answered once, when the last byte is there.
func TestReplyCutAtEveryByte(t *testing.T) {
	const replies = ":11\r\n-ERR no\r\n:-3\r\n"
	f := newOnFake(t, Options{})
	for cut := range len(replies) {
		calls := []*sentCall{f.send(exists(), 0), f.send(exists(), 0), f.send(exists(), 0)}
		f.turn(0)
		f.answer(replies[:cut])
		for i, s := range calls {
			if s.completed != 0 {
				t.Errorf("call %d is completed at byte %d", i, cut)
			}
		}
		f.answer(replies[cut:])
		if !calls[0].answered(11) || !calls[1].refused() || !calls[2].answered(-3) {
			t.Errorf("cut at %d: %+v, %+v, %+v", cut, calls[0], calls[1], calls[2])
		}
		if f.turn(0) != -1 || len(f.e.lost) != 0 {
			t.Fatalf("cut at %d: the connection is dropped, or a turn is due", cut)
		}
	}
}

// A completion may send calls: they go out with the next turn, as one flight.
func TestCompletionsSendCalls(t *testing.T) {
	f := newOnFake(t, Options{})
	var next []*sentCall
	var order []int
	for i := range 3 {
		s := f.send(exists(), 0)
		s.then = func() {
			order = append(order, i)
			next = append(next, f.send(NewCall().Integer("INCR", fmt.Append(nil, i)), 0))
		}
	}
	f.turn(0)
	f.asked()
	f.answer(":0\r\n:0\r\n:0\r\n")
	f.turn(0)
	asked := f.asked()
	if strings.Count(asked, "INCR") != 3 || !slices.Equal(order, []int{0, 1, 2}) {
		t.Errorf("asked %q, completed in the order %v", asked, order)
	}
	f.answer(":5\r\n:6\r\n:7\r\n")
	for i, s := range next {
		if !s.answered(int64(i + 5)) {
			t.Errorf("call %d: %+v", i, s)
		}
	}
}

// Redis that closes the connection behind its last reply has answered; what is sent on that is refused.
func TestLastReplyBeforeTheEnd(t *testing.T) {
	f := newOnFake(t, Options{})
	last := f.send(exists(), 0)
	sent := true
	f.turn(0)
	waiting := f.send(exists(), 0)
	waiting.then = func() { sent = f.e.conn.Send(exists(), &tally{}) }
	var second *sentCall
	last.then = func() { second = f.send(exists(), 0) }
	f.asked()
	f.reply(":3\r\n")
	f.hangUp()
	f.event(true)
	if !last.answered(3) || !waiting.refused() || !second.refused() || sent {
		t.Errorf("%+v, %+v, %+v; sent after the end: %v", last, waiting, second, sent)
	}
	if why := f.whyLost(); why.Error() != "cannot read a reply of Redis: EOF" {
		t.Errorf("lost: %v", why)
	}
	if f.forgets != 1 || f.turn(0) != -1 {
		t.Errorf("%d times forgotten", f.forgets)
	}
}

// A connection is dropped for what was not asked for, at whichever moment it comes; the next one serves.
func TestBadRepliesOnALoop(t *testing.T) {
	for _, tc := range []struct{ name, idle, reply, want string }{
		{"before a call", ":1\r\n", "", "4 bytes that were not asked for"},
		{"half a reply before a call", ":", "", "1 bytes that were not asked for"},
		{"one too many", "", ":1\r\n:2\r\n", "4 bytes behind the last one that was due"},
		{"a list", "", "*0\r\n", `"*0\r\n" where ':' is due`},
		{"no reply", "", "hello\r\n", `the line "hello\r\n"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newOnFake(t, Options{})
			if tc.idle != "" {
				f.reply(tc.idle)
			} else {
				defer func(s *sentCall) {
					if !s.refused() {
						t.Errorf("%+v", s)
					}
				}(f.send(exists(), 0))
				f.turn(0)
				f.reply(tc.reply)
			}
			f.event(false)
			why := f.whyLost()
			if !errors.Is(why, errBadReply) || why.Error() != errBadReply.Error()+": "+tc.want {
				t.Errorf("lost: %v, want %s", why, tc.want)
			}
			if f.e.conn.Send(exists(), &tally{}) {
				t.Error("a call is sent without a connection")
			}
			f.connect()
			for n := range int64(3) {
				s := f.send(exists(), 0)
				f.turn(0)
				if f.answer(fmt.Sprintf(":%d\r\n", n)); !s.answered(n) {
					t.Fatalf("on the next connection: %+v", s)
				}
			}
		})
	}
}

// A batch that is larger than the buffer of the socket leaves in parts. Replies that come before its end are
// none of Redis.
func TestBatchLeavesInParts(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	for _, early := range []bool{false, true} {
		f := newOnFake(t, Options{})
		call := f.send(NewCall().Integer("APPEND", []byte("k"), []byte(big)), 0)
		f.turn(0)
		if !f.writes || len(f.e.out) == 0 {
			t.Fatal("the whole batch fits the socket")
		}
		if early {
			f.answer(":1\r\n")
			if why := f.whyLost(); !errors.Is(why, errBadReply) || !call.refused() {
				t.Errorf("an early reply: %+v, %v", call, why)
			}
			f.connect()
			next := f.send(exists(), 0)
			f.turn(0)
			if asked := f.asked(); asked != "*2\r\n$6\r\nEXISTS\r\n$1\r\nk\r\n" {
				t.Errorf("the next connection begins with %q", asked)
			}
			if f.answer(":1\r\n"); !next.answered(1) {
				t.Errorf("%+v", next)
			}
			continue
		}
		asked := f.asked()
		for len(f.e.out) > 0 {
			f.watched(false, true, false)
			asked += f.asked()
		}
		if want := "*3\r\n$6\r\nAPPEND\r\n$1\r\nk\r\n$1048576\r\n" + big + "\r\n"; asked != want {
			t.Errorf("%d bytes are sent, want %d", len(asked), len(want))
		}
		if f.answer(":1\r\n"); !call.answered(1) {
			t.Errorf("%+v", call)
		}
	}
}

// The buffers do not keep the size of the largest batch.
func TestBuffersShrink(t *testing.T) {
	f := newOnFake(t, Options{})
	big := strings.Repeat("x", replyStringMax)
	var got string
	const times = 4
	x := NewCall()
	for range times {
		x.Command(&got, "ECHO", big)
	}
	s := f.send(x, 0)
	f.turn(0)
	for reply := strings.Repeat(fmt.Sprintf("$%d\r\n%s\r\n", len(big), big), times); s.completed == 0; {
		f.asked()
		f.watched(false, true, false)
		n, err := rawio.Send(f.peer, []byte(reply))
		if reply = reply[n:]; err != nil {
			t.Fatal(err)
		}
		f.event(false)
	}
	if s.err != nil || got != big {
		t.Fatalf("%v, %d bytes", s.err, len(got))
	}
	next := f.send(exists(), 0)
	f.turn(0)
	if f.answer(":1\r\n"); !next.answered(1) || cap(f.e.in) > keepMax || cap(f.e.text) > keepMax {
		t.Errorf("%+v; %d and %d bytes are kept", next, cap(f.e.in), cap(f.e.text))
	}
}

// Each connection has one reason for its end, whatever else goes wrong with it.
func TestOneReasonForEachConnection(t *testing.T) {
	f := newOnFake(t, Options{})
	first := errors.New("first")
	f.e.drop(first)
	f.e.drop(errors.New("second"))
	if why := f.whyLost(); why != first {
		t.Errorf("lost: %v", why)
	}
	f.refuse = errors.New("too many")
	f.connect()
	if why := f.whyLost(); why != f.refuse || f.e.conn.up.Load() {
		t.Errorf("lost: %v", why)
	}
	f.refuse = nil
	f.connect()
	s := f.send(exists(), 0)
	f.turn(0)
	if f.answer(":1\r\n"); !s.answered(1) || len(f.e.lost) != 0 {
		t.Errorf("%+v", s)
	}
}

// The queue of a loop is bounded: what does not fit is refused at once.
func TestQueueFullOnALoop(t *testing.T) {
	count := figures.Private()
	f := newOnFake(t, Options{Figures: &count.Redis, Waiting: &count.QueueCalls})
	log := testkit.CaptureLog(t)
	var got tally
	for range QueueMax {
		if !f.e.conn.Send(exists(), &got) {
			t.Fatal("a call is refused")
		}
	}
	if f.e.conn.Send(exists(), &got) {
		t.Error("one call too many is sent")
	}
	f.turn(0)
	waits, refused := count.QueueCalls.Value(), count.Redis.Overloads.Value()
	if waits != QueueMax-batchMax || refused != 1 {
		t.Errorf("%d calls wait and %d are refused, want %d and 1", waits, refused, QueueMax-batchMax)
	}
	if n := log.Count("calls to Redis are refused: more wait than it answers"); n != 1 {
		t.Errorf("%d lines about the overload, want 1", n)
	}
	for answered := int64(0); answered < QueueMax; answered += batchMax {
		f.asked()
		f.answer(strings.Repeat(":1\r\n", batchMax))
		if f.turn(0); got.sum.Load() != answered+batchMax {
			t.Fatalf("%d calls are answered, want %d", got.sum.Load(), answered+batchMax)
		}
	}
	sizes := count.Redis.BatchCalls.Read()
	waits = count.QueueCalls.Value()
	if waits != 0 || sizes.Count != QueueMax/batchMax || sizes.Sum != QueueMax {
		t.Errorf("%d calls wait; %d batches of %d calls", waits, sizes.Count, sizes.Sum)
	}
}
