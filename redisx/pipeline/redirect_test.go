package pipeline

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp"

	"flashsale/internal/testkit"
)

func TestParseRedirect(t *testing.T) {
	for text, want := range map[string]redirect{
		"MOVED 3999 127.0.0.1:6381":  {away, 3999, "127.0.0.1:6381"},
		"MOVED 0 ::1:6381":           {away, 0, "[::1]:6381"},
		"MOVED 16383 node.shop:6381": {away, 16383, "node.shop:6381"},
		"MOVED 3999 :6381":           {away, 3999, ""},
		"MOVED 3999 ?:6381":          {away, 3999, ""},
		"ASK 3999 127.0.0.1:6381":    {aside, 3999, "127.0.0.1:6381"},
		"ASK 3999 :6381":             {later, 3999, ""},
		"TRYAGAIN Multiple keys request during rehashing of slot": {later, -1, ""},
		"CLUSTERDOWN The cluster is down":                         {away, -1, ""},
		"READONLY You can't write against a read only replica.":   {away, -1, ""},
		"LOADING Redis is loading the dataset in memory":          {away, -1, ""},
		"MASTERDOWN Link with MASTER is down":                     {away, -1, ""},
	} {
		if got := parseRedirect(text); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
	for _, text := range []string{
		"MOVED", "MOVED 16384 a:1", "MOVED -1 a:1", "MOVED 1 a", "MOVEDx 1 a:1", "", "NOSCRIPT", "OOM",
		"CROSSSLOT Keys in request don't hash to the same slot"} {
		if got := parseRedirect(text); got != (redirect{}) {
			t.Errorf("%s: %+v, want no way", text, got)
		}
	}
}

func FuzzRedirect(f *testing.F) {
	testkit.AddSeeds[string](f)
	f.Fuzz(func(t *testing.T, text string) {
		r := parseRedirect(text)
		if r.address != "" {
			if host, _, err := net.SplitHostPort(r.address); err != nil && !strings.ContainsAny(text, "[]") ||
				err == nil && host == "" {
				t.Errorf("%q: the address %q, %v", text, r.address, err)
			}
		}
		if r.slot < -1 || r.slot > 16383 || r.route == aside && r.address == "" {
			t.Errorf("%q: %+v", text, r)
		}
	})
}

// FuzzTopology gives any bytes as the reply to CLUSTER SLOTS, behind the guard. They are refused, or give
// nodes with addresses.
func FuzzTopology(f *testing.F) {
	testkit.AddSeeds[[]byte](f)
	f.Fuzz(func(t *testing.T, text []byte) {
		var topo radix.ClusterTopo
		x := Command(&topo, "CLUSTER", "SLOTS")
		defer x.Free()
		br := bufio.NewReader(guarded{bytes.NewReader(text), newReplyGuard(0)})
		if x.read(br, resp.NewOpts()) != nil || x.err != nil {
			return
		}
		for _, node := range topo { // a wrong address is refused when it is dialled
			if holds(node, -1) {
				t.Errorf("%q: %v holds a slot that does not exist", text, node.Slots)
			}
		}
	})
}

const moved = "-MOVED 7 other:1\r\n"

// newInCluster is newScripted for slot 7 of a cluster.
func newInCluster(t testing.TB, opts Options) *onFake {
	f := newOnFake(t, opts)
	f.e.conn.cfg.Cluster, f.e.conn.cfg.Slot = true, 7
	return f
}

func get(key string, value *string) *Call { return Command(value, "GET", key) }

// Calls that were answered MOVED wait with those that come later. They go out first on the next connection,
// without those commands that were carried out.
func TestMovedOnALoop(t *testing.T) {
	script := NewScript("return {1}").Share(nil, nil, 1, 0)
	f := newInCluster(t, Options{Shared: []*Shared{script}})
	var a, b, c string
	here := f.send(exists(), 0)
	some := f.send(get("a", &a).Command(&b, "GET", "b").Command(&c, "GET", "c"), 0)
	lost := f.send(script.Call().Key([]byte("k")), 0)
	f.turn(0)
	waiting := f.send(get("d", new(string)), 0)
	f.asked()
	f.reply(":9\r\n$1\r\n1\r\n" + moved + "$1\r\n3\r\n" + noScript)
	f.event(false)
	if r, ok := f.whyLost().(relocation); !ok || r.address != "other:1" || f.e.fd >= 0 {
		t.Fatalf("left the connection by %v", r)
	}
	if !here.answered(9) || some.completed+lost.completed+waiting.completed != 0 || a != "1" || c != "3" {
		t.Fatalf("%+v, %+v, %+v, %+v, %q, %q", here, some, lost, waiting, a, c)
	}
	after := f.send(get("e", new(string)), 0)
	if again := f.turn(100 * ms); again != 900*ms {
		t.Errorf("the next turn is in %v, want it when the calls are overdue", again)
	}
	f.connect()
	f.turn(0)
	var keys []string
	for _, word := range strings.Fields(f.asked()) {
		if len(word) == 1 {
			keys = append(keys, word)
		}
	}
	if got := strings.Join(keys, ""); got != "bde1k" { // 1 is the number of keys
		t.Errorf("asked for %s, want bde1k", got)
	}
	f.reply("$1\r\n2\r\n$1\r\n4\r\n$1\r\n5\r\n*1\r\n:6\r\n")
	f.event(false)
	if !some.answered(0) || !lost.answered(6) || !waiting.answered(0) || !after.answered(0) || b != "2" {
		t.Errorf("%+v, %+v, %+v, %+v, %q", some, lost, waiting, after, b)
	}
}

// Calls that wait for a new master are refused when their timeout is over.
func TestOverdueAfterMoved(t *testing.T) {
	f := newInCluster(t, Options{})
	held := f.send(exists(), 300*ms)
	f.turn(0)
	waiting := f.send(exists(), 0)
	f.reply("-CLUSTERDOWN Hash slot not served\r\n")
	f.event(false)
	if r, ok := f.whyLost().(relocation); !ok || r.address != "" {
		t.Fatalf("left the connection by %v", r)
	}
	if again := f.turn(699 * ms); again != ms || held.completed != 0 {
		t.Errorf("the next turn is in %v: %+v", again, held)
	}
	again := f.turn(ms)
	if again != 300*ms || !held.refused() || !strings.Contains(held.err.Error(), "CLUSTERDOWN") {
		t.Errorf("the next turn is in %v: %+v", again, held)
	}
	f.e.end()
	if !waiting.refused() || f.turn(0) != -1 {
		t.Errorf("%+v", waiting)
	}
}

// Calls that were answered TRYAGAIN go out again after a pause, before all others.
func TestTryAgainOnALoop(t *testing.T) {
	f := newInCluster(t, Options{})
	first := f.send(exists(), 0)
	f.turn(0)
	sent := f.asked()
	second := f.send(get("b", new(string)), 0)
	for _, pause := range []time.Duration{10 * ms, 20 * ms, 40 * ms, 80 * ms, 100 * ms, 100 * ms} {
		f.reply("-TRYAGAIN later\r\n")
		if second != nil && pause > 10*ms {
			f.reply("$-1\r\n")
			second = nil
		}
		f.event(false)
		if again := f.turn(0); again != pause || f.asked() != "" {
			t.Fatalf("a pause of %v, want %v", again, pause)
		}
		f.turn(pause)
		if asked := f.asked(); !strings.HasPrefix(asked, sent) {
			t.Fatalf("asked %q, want %q first", asked, sent)
		}
	}
	f.reply(":5\r\n")
	if f.event(false); !first.answered(5) || f.turn(0) != -1 || f.e.conn.pause != 0 {
		t.Errorf("%+v", first)
	}
}

// A connection without a moving address takes the same replies for the outcome of its calls.
func TestRedirectsOfAPlainRedis(t *testing.T) {
	f := newOnFake(t, Options{})
	var sent []*sentCall
	for _, text := range []string{
		moved, "-ASK 7 other:1\r\n", "-TRYAGAIN no\r\n", "-READONLY no\r\n", "-LOADING\r\n"} {
		s := f.send(exists(), 0)
		f.turn(0)
		f.reply(text)
		f.event(false)
		sent = append(sent, s)
	}
	for _, s := range sent {
		if !s.refused() {
			t.Errorf("%+v", s)
		}
	}
}

// FuzzRedirects gives a connection to a cluster any bytes as the replies to a flight. Each call is answered
// once, at the latest when its timeout is over.
func FuzzRedirects(f *testing.F) {
	const value = "$1\r\na\r\n"
	for _, text := range []string{
		value + ":1\r\n:2\r\n*2\r\n:3\r\n:4\r\n", value + moved + ":2\r\n" + noScript,
		"-ASK 7 a:1\r\n:1\r\n-ASK 7 b:1\r\n-TRYAGAIN\r\n", value + ":1\r\n-TRYAGAIN\r\n-ASK 7 a:1\r\n",
		value + ":1\r\n:2\r\n-MOVED 8 a:1\r\n", value + ":1\r\n:2\r\n" + noScript, "-LOADING\r\n",
		value + ":1\r\n-CLUSTERDOWN\r\n-TRYAGAIN\r\n",
	} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, hangUp bool) {
		if len(text) > bufferBytes {
			return
		}
		on := newInCluster(t, Options{Shared: []*Shared{fuzzScript}})
		var value []byte
		var sent []*sentCall
		for _, x := range fuzzCalls(&value) {
			sent = append(sent, on.send(x, 0))
		}
		on.turn(0)
		on.reply(string(text))
		on.event(false)
		if hangUp {
			on.hangUp()
			on.event(true)
		}
		select {
		case calls := <-on.e.asks:
			on.e.asked(calls) // Run could not reach the node
		default:
		}
		for range 100 { // there is always a next turn, as long as a call waits
			again := on.turn(0)
			if again < 0 {
				break
			}
			on.turn(max(again, ms))
			select {
			case calls := <-on.e.asks:
				on.e.asked(calls)
			default:
			}
		}
		for i, s := range sent {
			if s.completed != 1 || s.err != nil && !errors.Is(s.err, ErrUnavailable) {
				t.Errorf("%q: call %d: %+v", text, i, s)
			}
		}
		if on.e.begun || on.e.asking || len(on.e.waiting) > 0 {
			t.Errorf("%q: it is not idle", text)
		}
	})
}
