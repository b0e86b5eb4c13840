package pipeline

import (
	"testing"
	"time"
)

// A call that waits behind a flight is refused when its own time is over, not when that of the flight is: a
// second step that was sent late would have up to twice the timeout.
func TestWaitingCallIsRefusedInTime(t *testing.T) {
	f := newOnFake(t, Options{})
	first := f.send(exists(), 0)
	if again := f.turn(0); again != time.Second {
		t.Errorf("the flight has %v, want 1s", again)
	}
	second := f.send(exists(), 600*ms)
	third := f.send(exists(), 0)
	if again := f.turn(0); again != 400*ms {
		t.Errorf("the next turn in %v, want 400ms", again)
	}
	if again := f.turn(399 * ms); again != ms || second.completed != 0 {
		t.Errorf("before its time is over: the next turn in %v, completed %d", again, second.completed)
	}
	if again := f.turn(ms); again != 600*ms || !second.refused() {
		t.Errorf("the next turn in %v, want that of the flight, 600ms; %+v", again, second)
	}
	f.answer(":1\r\n")
	if again := f.turn(0); !first.answered(1) || third.completed != 0 || again != 600*ms {
		t.Errorf("%+v, %+v, the next turn in %v", first, third, again)
	}
	f.answer(":2\r\n")
	if again := f.turn(0); !third.answered(2) || again != -1 {
		t.Errorf("%+v, the next turn in %v", third, again)
	}
}

// What was sent late in its time has replyGrace, and is answered within the timeout and that. The second
// step of an add may stand behind calls that are younger than its first: the flight keeps its time.
func TestFlightOfAnOldCall(t *testing.T) {
	f := newOnFake(t, Options{})
	young := f.send(exists(), 0)
	old := f.send(exists(), 999*ms)
	if again := f.turn(0); again != replyGrace {
		t.Errorf("the flight has %v, want %v", again, replyGrace)
	}
	f.turn(replyGrace)
	if why := f.whyLost(); !old.refused() || !young.refused() || why != errNoReply {
		t.Errorf("%+v, %+v; %v", old, young, why)
	}
}

// The oldest call goes with a full flight: what waits behind it keeps its own time, and the turn at which
// that of the oldest would have been over costs nothing else.
func TestOldestCallLeavesTheQueue(t *testing.T) {
	f := newOnFake(t, Options{})
	f.send(exists(), 0)
	f.turn(0)
	oldest := f.send(exists(), 500*ms)
	for range batchMax - 1 {
		f.send(exists(), 0)
	}
	behind := f.send(exists(), 300*ms)
	f.answer(":1\r\n")
	if again := f.turn(0); again != 500*ms || len(f.e.waiting) != 1 {
		t.Fatalf("the next turn in %v, %d calls wait", again, len(f.e.waiting))
	}
	f.reply(":1\r\n") // of the oldest only
	f.event(false)
	f.e.until = f.e.until.Add(time.Second) // so that only the calls that wait have a limit near
	if again := f.turn(500 * ms); again != 200*ms || behind.completed != 0 {
		t.Errorf("the next turn in %v, want 200ms; %+v", again, behind)
	}
	if f.turn(200 * ms); !behind.refused() || oldest.completed != 0 {
		t.Errorf("behind %+v, the oldest %+v", behind, oldest)
	}
}

// A completion may send a call while what is overdue is refused: the new call waits with the others.
func TestRefusedCallSendsAnother(t *testing.T) {
	for name, begun := range map[string]bool{"behind a flight": true, "before a flight": false} {
		f := newOnFake(t, Options{})
		var flying, another *sentCall
		if begun {
			flying = f.send(exists(), 0)
			f.turn(0)
		}
		overdue := f.send(exists(), time.Second)
		overdue.then = func() { another = f.send(exists(), 0) }
		kept := f.send(exists(), 0)
		f.turn(0)
		if !overdue.refused() || kept.completed != 0 || another.completed != 0 {
			t.Fatalf("%s: %+v, %+v, %+v", name, overdue, kept, another)
		}
		if begun {
			f.answer(":1\r\n")
			f.turn(0)
		}
		f.answer(":2\r\n:3\r\n")
		if begun && !flying.answered(1) || !kept.answered(2) || !another.answered(3) {
			t.Errorf("%s: %+v, %+v, %+v", name, flying, kept, another)
		}
	}
}

// A process that was paused finds the replies in the socket, without an event so far: the flight is
// answered, and only what has waited for its whole time is refused.
func TestPausedProcessReadsItsReplies(t *testing.T) {
	f := newOnFake(t, Options{})
	flying := f.send(exists(), 0)
	f.turn(0)
	waiting := f.send(exists(), 0)
	f.turn(0)
	f.reply(":7\r\n")
	f.now = f.now.Add(10 * time.Second)
	fresh := f.send(exists(), 0)
	f.turn(0)
	if !flying.answered(7) || !waiting.refused() || fresh.completed != 0 {
		t.Errorf("%+v, %+v, %+v", flying, waiting, fresh)
	}
	if f.asked(); len(f.e.lost) != 0 {
		t.Fatal("the connection is dropped")
	}
	if f.answer(":8\r\n"); !fresh.answered(8) {
		t.Errorf("%+v", fresh)
	}
}

// The same with a part of the replies, with none, and with an end of the connection behind them.
func TestPausedProcessFindsNoReplies(t *testing.T) {
	for reply, want := range map[string]string{
		"":              errNoReply.Error(),
		":7\r":          errNoReply.Error(),
		":7\r\n:":       errNoReply.Error(),
		":1\r\n:2\r\n:": errBadReply.Error() + ": 1 bytes behind the last one that was due",
		"HTTP/1.1\r\n":  errBadReply.Error() + `: the line "HTTP/1.1\r\n"`,
	} {
		f := newOnFake(t, Options{})
		calls := []*sentCall{f.send(exists(), 0), f.send(exists(), 0)}
		f.turn(0)
		calls = append(calls, f.send(exists(), 0))
		f.reply(reply)
		f.turn(time.Second)
		for i, s := range calls {
			if !s.refused() {
				t.Errorf("%q: call %d: %+v", reply, i, s)
			}
		}
		if why := f.whyLost(); why.Error() != want {
			t.Errorf("%q: %v, want %s", reply, why, want)
		}
	}
	f := newOnFake(t, Options{})
	flying := f.send(exists(), 0)
	f.turn(0)
	f.reply(":7\r\n")
	f.hangUp()
	if f.turn(time.Second); !flying.answered(7) {
		t.Errorf("the connection has ended behind the reply: %+v", flying)
	}
}
