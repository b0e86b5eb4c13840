package pipeline

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"flashsale/internal/serve/eventloop/looptest"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// faulty is a Redis that does what it likes on its first connection, and answers :1 to whatever comes on
// the later ones.
func faulty(t *testing.T, first func(c net.Conn)) Config {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	t.Cleanup(func() { l.Close() })
	serve := func(c net.Conn, answer func(c net.Conn)) {
		defer c.Close()
		answer(c)
	}
	go func() {
		for answer := first; ; answer = answerOne {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c, answer)
		}
	}()
	return Config{Network: "tcp", Address: l.Addr().String(), Timeout: testkit.Patience}
}

func answerOne(c net.Conn) {
	for asked := make([]byte, 4096); ; {
		if _, err := c.Read(asked); err != nil {
			return
		}
		if _, err := io.WriteString(c, ":1\r\n"); err != nil {
			return
		}
	}
}

// answers makes a Redis that answers the first call with the pieces and then waits, or closes.
func answers(end bool, pieces ...string) func(c net.Conn) {
	return func(c net.Conn) {
		if _, err := c.Read(make([]byte, 4096)); err != nil {
			return
		}
		for _, piece := range pieces {
			if _, err := io.WriteString(c, piece); err != nil {
				return
			}
		}
		if !end {
			_, _ = io.Copy(io.Discard, c) // until the other side has dropped it
		}
	}
}

// A connection on which Redis does not answer as it should is dropped, its calls are refused with the reason
// in the log, and the next connection serves.
func TestFaultyRedis(t *testing.T) {
	const short = 200 * time.Millisecond
	for _, tc := range []struct {
		name, want string
		limit      time.Duration // the timeout, where that is what the call meets
		first      func(c net.Conn)
	}{
		{"never answers", errNoReply.Error(), short, answers(false)},
		{"half a reply", errNoReply.Error(), short, answers(false, ":", "1\r")},
		{"closes", "EOF", 0, answers(true)},
		{"closes amid a reply", "EOF", 0, answers(true, ":1\r")},
		{"answers too much", "bytes behind the last one that was due", 0, answers(false, ":1\r\n:2\r\n")},
		{"another protocol", `the line "HTTP/1.1 400 Bad Request\r\n"`, 0,
			answers(false, "HTTP/1.1 400 Bad Request\r\n")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			onEngines(t, func(t *testing.T, loop Loop) {
				cfg := faulty(t, tc.first)
				if tc.limit > 0 {
					cfg.Timeout = tc.limit
				}
				reasons := make(chan error, 100)
				c := connect(t, cfg, Options{Loop: loop, Outage: &Outage{Reason: func(err error) string {
					reasons <- err
					return ""
				}}})
				if err := do(c, exists()); !errors.Is(err, ErrUnavailable) {
					t.Errorf("the call: %v, want ErrUnavailable", err)
				}
				if why := <-reasons; !strings.HasSuffix(why.Error(), tc.want) {
					t.Errorf("the connection was lost by %v, want %s", why, tc.want)
				}
				testkit.Until(t, "the next connection serves", func() bool {
					n, err := doInteger(c, exists())
					return err == nil && n == 1
				})
			})
		})
	}
}

// Replies in pieces, each a packet of its own where the network likes, are one answer.
func TestRepliesInPieces(t *testing.T) {
	onEngines(t, func(t *testing.T, loop Loop) {
		reply := "$5\r\na\r\nbc\r\n*2\r\n:1\r\n$-1\r\n:7\r\n"
		c := connect(t, faulty(t, answers(false, strings.Split(reply, "")...)), Options{Loop: loop})
		var text string
		var list []any
		var n int
		x := Command(&text, "GET", "k").Command(&list, "LRANGE", "l", "0", "-1").Command(&n, "DBSIZE")
		if err := do(c, x); err != nil || text != "a\r\nbc" || len(list) != 2 || n != 7 {
			t.Errorf("%q, %v, %d, %v", text, list, n, err)
		}
	})
}

// A batch that is larger than the buffers of the sockets goes to a Redis that stands still, and is carried
// out as soon as that goes on.
func TestBatchLargerThanTheSocket(t *testing.T) {
	onEngines(t, func(t *testing.T, loop Loop) {
		server := redistest.New(t)
		cfg := unix(server)
		cfg.Timeout = testkit.Patience
		c := connect(t, cfg, Options{Loop: loop})
		var got tally
		const calls, size = 200, 64 << 10
		piece := []byte(strings.Repeat("x", size))
		server.Freeze(t)
		looptest.On(loop, func() {
			for range calls {
				if !c.Send(NewCall().Integer("APPEND", []byte("k"), piece), &got) {
					t.Error("a call is refused")
				}
			}
		})
		if loop != nil {
			testkit.Until(t, "a part is sent", func() (part bool) {
				looptest.On(loop, func() { part = c.loop.begun && len(c.loop.out) > 0 })
				return part
			})
		}
		server.Thaw(t)
		testkit.Until(t, "all calls are answered", func() bool { return got.answered.Load() == calls })
		const sum = size * calls * (calls + 1) / 2
		if n := got.sum.Load(); n != sum {
			t.Errorf("the lengths have the sum %d, want %d", n, sum)
		}
	})
}

// A Conn that ends in the middle of calls refuses them and closes its connection; its loop goes on.
func TestConnEndsBeforeItsLoop(t *testing.T) {
	server := redistest.New(t)
	loop := looptest.Run(t)
	var got tally
	t.Run("a Conn", func(t *testing.T) {
		cfg := unix(server)
		cfg.Timeout = testkit.Patience
		c := connect(t, cfg, Options{Loop: loop})
		server.Freeze(t)
		for range 10 {
			if !send(c, exists(), &got) {
				t.Error("a call is refused")
			}
		}
	})
	if n := got.refused.Load(); n != 10 {
		t.Errorf("%d calls are refused, want 10", n)
	}
	server.Thaw(t)
	c := connect(t, unix(server), Options{Loop: loop})
	if err := do(c, exists()); err != nil {
		t.Errorf("another Conn on the loop: %v", err)
	}
	testkit.Until(t, "Redis has one connection, and this one", func() bool {
		var clients string
		err := do(c, Command(&clients, "CLIENT", "LIST", "TYPE", "normal"))
		return err == nil && strings.Count(clients, "id=") == 1
	})
}
