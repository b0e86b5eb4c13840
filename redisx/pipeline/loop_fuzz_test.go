package pipeline

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mediocregopher/radix/v4/resp"
)

var fuzzScript = NewScript("return {1, 2}").Share(nil, nil, 1, 0)

// fuzzCalls makes calls of all kinds. The reply of the first one goes into value.
func fuzzCalls(value *[]byte) []*Call {
	*value = nil
	return []*Call{Command(value, "GET", "k"), exists(), exists(),
		fuzzScript.Call().Key([]byte("a")), fuzzScript.Call().Key([]byte("b"))}
}

// readAtOnce returns what the calls get from replies that are here as a whole, as with goroutines.
func readAtOnce(replies []byte) (b *batch, value []byte, err error) {
	b = newBatch([]*Shared{fuzzScript}, fuzzCalls(&value)...)
	src := guarded{bytes.NewReader(replies), newReplyGuard(0)}
	err = b.UnmarshalRESP(bufio.NewReaderSize(src, bufferBytes), resp.NewOpts())
	return b, value, err
}

// FuzzLoopReplies gives the engine of an event loop any bytes as the replies to a flight, in three pieces.
// Its calls get what they would with goroutines from the bytes up to the piece that completes them, or are
// refused; each of them once.
func FuzzLoopReplies(f *testing.F) {
	const value = "$1\r\na\r\n"
	for _, text := range []string{
		value + ":1\r\n:2\r\n*2\r\n:3\r\n:4\r\n", value + ":1\r\n:2\r\n*1\r\n:3\r\n",
		value + ":1\r\n:2\r\n" + noScript, "-ERR no\r\n-ERR\r\n-WRONGTYPE\r\n-ERR no\r\n",
		"$-1\r\n:1\r\n:2\r\n*2\r\n:3\r\n-ERR no\r\n", ":1\r\n:1\r\n:1\r\n:1\r\n:1\r\n",
		value + ":1\r\n:2\r\n*2\r\n:3\r\n:4\r\n+more\r\n", value + ":1\r\n-NOSCRIPT\r\n*2\r\n-NOSCRIPT\r\n:1\r\n",
		"*1\r\n:1\r\n:1\r\n:2\r\n*2\r\n:3\r\n:4\r\n", "$9\r\na", "HTTP/1.1 400\r\n", "",
	} {
		f.Add([]byte(text), uint16(0), uint16(0))
		f.Add([]byte(text), uint16(7), uint16(19))
	}
	f.Fuzz(func(t *testing.T, text []byte, first, second uint16) {
		if len(text) > bufferBytes { // more does not fit the socket at once
			return
		}
		on := newOnFake(t, Options{Shared: []*Shared{fuzzScript}})
		var value []byte
		var sent []*sentCall
		for _, x := range fuzzCalls(&value) {
			sent = append(sent, on.send(x, 0))
		}
		on.turn(0)
		on.asked()
		a, b := int(first)%(len(text)+1), int(second)%(len(text)+1)
		for begin, stops := 0, []int{min(a, b), max(a, b), len(text)}; len(stops) > 0 && on.watched != nil; {
			on.answer(string(text[begin:stops[0]]))
			begin, stops = stops[0], stops[1:]
			if on.e.begun && on.e.flight.repeated || !on.e.begun {
				compareWithBatch(t, on, text[:begin], sent, value)
				break
			}
			if _, _, err := readAtOnce(text[:begin]); err == nil {
				t.Errorf("%q: no answer", text[:begin])
			}
		}
		if on.watched != nil {
			on.hangUp()
			on.event(true)
		}
		for i, s := range sent {
			if s.completed != 1 || s.err != nil && !errors.Is(s.err, ErrUnavailable) {
				t.Errorf("%q: call %d: %+v", text, i, s)
			}
		}
		if why := on.whyLost(); why == nil || on.e.begun || len(on.e.waiting) > 0 {
			t.Errorf("%q: lost by %v, but not idle", text, why)
		}
	})
}

// compareWithBatch compares what the calls got of a flight that has ended with what a batch reads.
func compareWithBatch(t *testing.T, on *onFake, replies []byte, sent []*sentCall, value []byte) {
	t.Helper()
	b, wantValue, err := readAtOnce(replies)
	if dropped := on.watched == nil; dropped != (err != nil) {
		t.Fatalf("%q: dropped %v, at once %v", replies, dropped, err)
	}
	if err != nil {
		return
	}
	if !bytes.Equal(value, wantValue) {
		t.Errorf("%q: %q, want %q", replies, value, wantValue)
	}
	for i, x := range b.calls {
		s := sent[i]
		switch {
		case b.unknownScript && x.lostScript():
			if s.completed != 0 {
				t.Errorf("%q: call %d lost its script: %+v", replies, i, s)
			}
		case s.completed != 1 || s.integer != x.integer || fmt.Sprint(s.err) != fmt.Sprint(x.err):
			t.Errorf("%q: call %d: %+v, want %d, %v", replies, i, s, x.integer, x.err)
		}
	}
	if loads := strings.Count(on.asked(), "$4\r\nLOAD\r\n"); (loads == 1) != b.unknownScript {
		t.Errorf("%q: scripts are loaded %d times", replies, loads)
	}
}
