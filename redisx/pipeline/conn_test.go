package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/internal/observe/figures"
	"flashsale/internal/serve/eventloop/looptest"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

func TestCommands(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, loop Loop) {
		log := testkit.CaptureLog(t)
		c := connect(t, cfg, Options{Loop: loop})
		var ok, text string
		var missing []byte
		var n int
		x := Command(&ok, "SET", "k", "v").Command(&text, "GET", "k").
			Command(&radix.Maybe{Rcv: &missing}, "GET", "none").Command(&n, "EXISTS", "k", "k")
		if err := do(c, x); err != nil || ok != "OK" || text != "v" || missing != nil || n != 2 {
			t.Errorf("%q, %q, %q, %d, %v", ok, text, missing, n, err)
		}
		if n, err := doInteger(c, NewCall().Integer("APPEND", []byte("k"), []byte("w"))); err != nil || n != 2 {
			t.Errorf("an integer: %d, %v; want 2", n, err)
		}
		looptest.On(loop, func() { c.Detach(NewCall().Integer("APPEND", []byte("k"), []byte("x"))) })
		if err := do(c, Command(&text, "GET", "k")); err != nil || text != "vwx" {
			t.Errorf("behind a detached call: %q, %v; want vwx", text, err)
		}
		testkit.Must(t, do(c, Command(&n, "LPUSH", "list", "x")))
		integer, err := doInteger(c, NewCall().Integer("APPEND", []byte("list"), []byte("w")))
		if err != nil || integer != WrongType {
			t.Errorf("an integer of a list: %d, %v; want WrongType", integer, err)
		}
		var refused, taken Verdict
		x = Command(&refused, "LPUSHX", "k", "x").Command(&taken, "LPUSHX", "list", "x")
		if err := do(c, x); err != nil || refused.Refused == "" || taken.Refused != "" {
			t.Errorf("verdicts %+v, %+v, %v", refused, taken, err)
		}
		err = do(c, Command(&text, "GET", "list").Command(&n, "EXISTS", "k"))
		if !errors.Is(err, ErrUnavailable) || n != 1 {
			t.Errorf("an error reply among others: %d, %v; want 1, ErrUnavailable", n, err)
		}
		if log.Count("Redis refused a command") != 1 || log.Count("WRONGTYPE") != 1 {
			t.Errorf("log %s", log)
		}
	})
}

// A script returns what it likes, on its own.
func TestScript(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, loop Loop) {
		echo := NewScript("return {KEYS[1], ARGV[1], ARGV[2], #KEYS + #ARGV}")
		c := connect(t, cfg, Options{Loop: loop, Scripts: []*Script{echo}})
		l, err := Dial(t.Context(), cfg)
		testkit.Must(t, err)
		defer l.Close()
		keys, args := []string{"k"}, []string{"a", "b\r\n"}
		for name, do := range map[string]func(reply any) error{
			"by its name":   func(reply any) error { return do(c, echo.Call(reply, keys, args...)) },
			"by its source": func(reply any) error { return do(c, echo.Eval(reply, keys, args...)) },
			"on a link":     func(reply any) error { return l.Do(echo.Eval(reply, keys, args...), cfg.Timeout) },
		} {
			var key, a, b string
			var n int64
			err := do(&radix.Tuple{&key, &a, &b, &n})
			if err != nil || key != "k" || a != "a" || b != "b\r\n" || n != 3 {
				t.Errorf("%s: %q, %q, %q, %d, %v", name, key, a, b, n, err)
			}
		}
	})
}

// counter adds each call's argument to the call's own key and to the shared one, up to the shared limit.
const counter = `
local codes = {}
for i = 1, #ARGV - 1 do
  local sum = redis.call('INCRBY', KEYS[1 + i], ARGV[1 + i])
  codes[i] = sum > tonumber(ARGV[1]) and -1 or sum
  redis.call('INCRBY', KEYS[1], ARGV[1 + i])
end
return codes`

// Calls of two shared scripts and commands, many at once, also after the scripts were lost.
func TestSharedScripts(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config, loop Loop) {
		ones := NewScript(counter).Share([]string{"ones"}, []string{"1000"}, 1, 1)
		twos := NewScript(counter+" -- the other").Share([]string{"twos"}, []string{"1"}, 1, 1)
		last := NewScript("return redis.call('INCR', KEYS[1])")
		c := connect(t, cfg, Options{Loop: loop, Scripts: []*Script{last}, Shared: []*Shared{ones, twos}})
		const waves, callers = 3, 100
		for range waves {
			var wg sync.WaitGroup
			for i := range callers {
				wg.Go(func() {
					key := fmt.Appendf(nil, "k%d", i)
					if n, err := doInteger(c, ones.Call().Key(key).Arg([]byte("1"))); err != nil || n < 1 {
						t.Errorf("ones: %d, %v", n, err)
					}
					if n, err := doInteger(c, twos.Call().Key(key).Arg([]byte("2"))); err != nil || n != -1 {
						t.Errorf("twos: %d, %v; want -1", n, err)
					}
					var n int64
					if err := do(c, last.Call(&n, []string{"last"})); err != nil || n < 1 {
						t.Errorf("alone: %d, %v", n, err)
					}
				})
			}
			wg.Wait()
			testkit.Must(t, do(c, Command(nil, "SCRIPT", "FLUSH")))
		}
		got := make([]string, 4)
		x := Command(&got[0], "GET", "ones").Command(&got[1], "GET", "twos").
			Command(&got[2], "GET", "last").Command(&got[3], "GET", "k7")
		if err := do(c, x); err != nil || !slices.Equal(got, []string{"300", "600", "300", "9"}) {
			t.Errorf("sums %q, %v; want 300, 600, 300, 9", got, err)
		}
	})
}

// An error reply of a shared script belongs to all its calls, and to no others.
func TestErrorOfASharedScript(t *testing.T) {
	cfg := unix(redistest.Start(t))
	broken := NewScript("return redis.error_reply('ERR no')").Share(nil, nil, 1, 0)
	short := NewScript("return {1}").Share(nil, nil, 1, 0)
	shared := New(cfg, Options{Shared: []*Shared{broken, short}}).opts.Shared
	l, err := Dial(t.Context(), cfg)
	testkit.Must(t, err)
	defer l.Close()
	var n int64
	calls := []*Call{broken.Call().Key([]byte("a")), broken.Call().Key([]byte("b")), Command(&n, "INCR", "k")}
	testkit.Must(t, l.Do(loading([]*Script{broken.Script, short.Script}), time.Second))
	b := newBatch(shared, calls...)
	err = l.roundTrip(b, time.Now().Add(time.Second))
	if err != nil || n != 1 || !b.failed || b.unknownScript {
		t.Errorf("%d, %v; the batch has failed %v", n, err, b.failed)
	}
	for i, want := range []bool{true, true, false} {
		if _, err := calls[i].Result(); errors.Is(err, ErrUnavailable) != want {
			t.Errorf("call %d: %v", i, err)
		}
	}
	// A list of another length than there are calls ends the connection: it is not known which code is
	// missing.
	b = newBatch(shared, short.Call().Key([]byte("a")), short.Call().Key([]byte("b")))
	if err := l.roundTrip(b, time.Now().Add(time.Second)); !errors.Is(err, errBadReply) {
		t.Errorf("one integer for two calls: %v, want errBadReply", err)
	}
}

// tally is a Completion for many calls.
type tally struct {
	answered, refused atomic.Int64
	sum               atomic.Int64
}

func (s *tally) Complete(x *Call) {
	if n, err := x.Result(); err != nil {
		s.refused.Add(1)
	} else {
		s.answered.Add(1)
		s.sum.Add(n)
	}
	x.Free()
}

// Every call that was sent is completed once, whatever becomes of Redis.
func TestCompletions(t *testing.T) { onEngines(t, testCompletions) }

func testCompletions(t *testing.T, loop Loop) {
	server := redistest.New(t)
	cfg := unix(server)
	c := connect(t, cfg, Options{Loop: loop})
	var got tally
	sent := int64(0)
	sendAll := func(c *Conn) {
		for range 1000 {
			if x := NewCall().Integer("EXISTS", []byte("k"), []byte("k")); send(c, x, &got) {
				sent++
			} else {
				x.Free()
			}
		}
	}
	server.Do(t, "SET k v")
	sendAll(c)
	completed := func() bool { return got.answered.Load()+got.refused.Load() == sent }
	testkit.Until(t, "all calls are answered", completed)
	if got.answered.Load() != 1000 || got.sum.Load() != 2000 {
		t.Errorf("%d answers, sum %d; want 1000, 2000", got.answered.Load(), got.sum.Load())
	}
	cfg.Timeout = 200 * time.Millisecond
	hasty := connect(t, cfg, Options{Loop: loop})
	server.Freeze(t)
	sendAll(hasty)
	testkit.Until(t, "all calls into a frozen Redis are refused", completed)
	if got.refused.Load() == 0 {
		t.Error("a frozen Redis has answered everything")
	}
	server.Thaw(t)
	testkit.Until(t, "Redis answers again", func() bool { return do(c, Command(nil, "PING")) == nil })
}

// A connection serves only after its greeting; one that is refused is dialled again, and the log has one
// line for it.
func TestGreeting(t *testing.T) { onEngines(t, testGreeting) }

func testGreeting(t *testing.T, loop Loop) {
	log := testkit.CaptureLog(t)
	stranger := errors.New("a stranger")
	var greeted atomic.Int64
	server := redistest.Start(t)
	c := connect(t, unix(server), Options{
		Loop:    loop,
		Scripts: []*Script{NewScript("return 7")},
		Greet: func(l *Link, limit time.Duration) error {
			var reply string
			if err := l.Do(Command(&reply, "PING"), limit); err != nil || reply != "PONG" {
				t.Errorf("%q, %v on a greeted connection", reply, err)
			}
			if greeted.Add(1) <= 3 {
				return stranger
			}
			return nil
		},
		Outage: &Outage{Reason: func(err error) string {
			if errors.Is(err, stranger) {
				return "Redis does not know us"
			}
			return ""
		}, Effect: "nothing is done"},
	})
	if n := greeted.Load(); n != 4 {
		t.Errorf("%d greetings, want 4", n)
	}
	away := log.Count(`"Redis does not know us: nothing is done until it does"`)
	if away != 1 || log.Count("Redis answers again") != 1 {
		t.Errorf("log %s", log)
	}
	server.Do(t, "SCRIPT FLUSH SYNC") // the connection stays, and so does the greeting
	var n int64
	if err := do(c, c.opts.Scripts[0].Call(&n, nil)); err != nil || n != 7 || greeted.Load() != 4 {
		t.Errorf("%d, %v after %d greetings; want 7, 4 greetings", n, err, greeted.Load())
	}
}

// Each batch is counted with its calls, its wait and its round trip. A connection that Redis closes while it
// is idle is dialled anew before the next call needs it, and counted too.
func TestFigures(t *testing.T) { onEngines(t, testFigures) }

func testFigures(t *testing.T, loop Loop) {
	server := redistest.Start(t)
	count := figures.Private()
	c := connect(t, unix(server), Options{Loop: loop, Figures: &count.Redis, Waiting: &count.QueueCalls})
	const callers, each = 8, 20
	var calling sync.WaitGroup
	for range callers {
		calling.Go(func() {
			for range each {
				if err := do(c, NewCall().Integer("INCR", []byte("n"))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	calling.Wait()
	r := &count.Redis
	sizes := r.BatchCalls.Read()
	batches := sizes.Count
	if sizes.Sum != callers*each || batches == 0 || batches > callers*each {
		t.Errorf("sizes %+v, want %d calls", sizes, callers*each)
	}
	if wait, trip := r.QueueWait.Read(), r.RoundTrip.Read(); wait.Count != batches || trip.Count != batches ||
		trip.Sum == 0 {
		t.Errorf("%d batches: waits %+v, round trips %+v", batches, wait, trip)
	}
	if r.Reconnects.Value() != 0 || r.Overloads.Value() != 0 {
		t.Errorf("%d connections made again, %d calls refused", r.Reconnects.Value(), r.Overloads.Value())
	}
	server.Do(t, "CLIENT KILL TYPE normal SKIPME yes")
	testkit.Until(t, "new connection", func() bool { return r.Reconnects.Value() == 1 && c.Up() })
	testkit.Must(t, do(c, Command(nil, "PING")))
}
