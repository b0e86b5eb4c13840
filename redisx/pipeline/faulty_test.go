package pipeline

import (
	"errors"
	"io"
	"net"
	"slices"
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
	megabyte := "$1000000\r\n" + strings.Repeat("x", 1_000_000) + "\r\n"
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
		{"a string of a terabyte", "more than 1048576 (replyStringMax)", 0, answers(false, "$999999999999\r\n")},
		{"a list without end", "more than 8388608 bytes (replyBytesMax)", 0,
			answers(false, slices.Insert(slices.Repeat([]string{megabyte}, 60), 0, "*60000\r\n")...)},
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
				var got any
				var err error
				spent := allocated(func() { err = do(c, Command(&got, "GET", "k")) })
				if !errors.Is(err, ErrUnavailable) {
					t.Errorf("the call: %v, want ErrUnavailable", err)
				}
				// The buffer of a loop holds all replies, and grows in steps; the other side copies what it sends.
				if spent > 3*spentMax {
					t.Errorf("%d KB were allocated for it", spent>>10)
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
