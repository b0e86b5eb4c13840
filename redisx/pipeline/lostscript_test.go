package pipeline

import (
	"strings"
	"testing"
)

const noScript = "-NOSCRIPT No matching script. Please use EVAL.\r\n"

// newScripted makes an engine with a script, and a call of it.
func newScripted(t *testing.T) (f *onFake, call func() *Call) {
	script := NewScript("return {1}").Share(nil, nil, 1, 0)
	return newOnFake(t, Options{Shared: []*Shared{script}}),
		func() *Call { return script.Call().Key([]byte("k")) }
}

// Lost scripts are loaded and their calls made once more; the others do not wait for that.
func TestLostScriptOnALoop(t *testing.T) {
	f, call := newScripted(t)
	for wave := range 3 {
		lost := []*sentCall{f.send(call(), 0), f.send(call(), 0)}
		other := f.send(exists(), 0)
		f.turn(0)
		f.asked()
		f.answer(":9\r\n" + noScript)
		asked := f.asked()
		if !other.answered(9) || lost[0].completed+lost[1].completed != 0 ||
			!strings.HasPrefix(asked, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD") || strings.Count(asked, "EVALSHA") != 1 {
			t.Fatalf("wave %d: %+v, %+v, %+v, asked %q", wave, other, lost[0], lost[1], asked)
		}
		if again := f.turn(100 * ms); again != 900*ms {
			t.Errorf("the second try has %v, want what is left: 900ms", again)
		}
		if f.answer("$3\r\nsha\r\n*2\r\n:5\r\n:6\r\n"); !lost[0].answered(5) || !lost[1].answered(6) {
			t.Fatalf("wave %d: %+v, %+v", wave, lost[0], lost[1])
		}
	}
}

// A Redis that does not keep the scripts gets no third request: the calls fail, the connection stays, and
// the next calls have their second try again.
func TestScriptLostTwice(t *testing.T) {
	f, call := newScripted(t)
	for wave := range 2 {
		lost := f.send(call(), 0)
		f.turn(0)
		f.answer(noScript)
		f.asked()
		f.answer("-NOPERM no\r\n" + noScript)
		if asked := f.asked(); asked != "" || !lost.refused() || len(f.e.lost) != 0 || f.turn(0) != -1 {
			t.Fatalf("wave %d: %+v, asked %q", wave, lost, asked)
		}
	}
}

// The connection ends when lost scripts are to be loaded: what was answered stays answered.
func TestScriptLostWithTheConnection(t *testing.T) {
	f, call := newScripted(t)
	lost, other := f.send(call(), 0), f.send(exists(), 0)
	f.turn(0)
	waiting := f.send(exists(), 0)
	f.reply(":9\r\n" + noScript)
	f.hangUp()
	f.event(true)
	if !other.answered(9) || !lost.refused() || !waiting.refused() || f.whyLost() == nil {
		t.Errorf("%+v, %+v, %+v", other, lost, waiting)
	}
	f.connect() // with its own second try
	lost = f.send(call(), 0)
	f.turn(0)
	f.answer(noScript)
	if f.answer("$3\r\nsha\r\n*1\r\n:5\r\n"); !lost.answered(5) {
		t.Errorf("on the next connection: %+v", lost)
	}
}
