package eventloop

import (
	"fmt"
	"testing"

	"flashsale/internal/serve/listener"
	"flashsale/internal/testkit"
)

// Each state ends at its time and not before.
func TestTimeouts(t *testing.T) {
	const bytes = 8 // sent one a second
	for name, test := range map[string]struct {
		enter   func(s *stand, c *client)
		seconds int // that it may stay
		replies []reply
	}{
		"first byte": {func(s *stand, c *client) { s.await(1, listener.Opening) }, 10, nil},
		"idle": {func(s *stand, c *client) {
			c.send(get("/now"))
			s.await(1, listener.Idle)
		}, 75, []reply{ok("GET /now ")}},
		"idle after another server": {func(s *stand, c *client) {
			c.send(get("/away"))
			s.await(1, listener.Idle)
		}, 75, []reply{ok("GET /away ")}},
		"whole request": {func(s *stand, c *client) {
			c.send("G")
			s.await(1, listener.Reading)
		}, 10, nil},
		"byte by byte": {func(s *stand, c *client) {
			for _, b := range []byte(get("/slow"))[:bytes] {
				c.send(string(b))
				s.await(1, listener.Reading)
				s.pass(1)
			}
		}, 10 - bytes, nil},
		"body byte by byte": {func(s *stand, c *client) {
			c.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n")
			for range bytes {
				s.await(1, listener.Reading)
				s.pass(1)
				c.send("b")
			}
		}, 10 - bytes, []reply{{status: 100}}},
		"second request": {func(s *stand, c *client) {
			s.await(1, listener.Opening)
			s.pass(9)
			c.send(get("/now"), "G")
			s.await(1, listener.Reading)
		}, 10, []reply{ok("GET /now ")}},
		"request behind one that waits": {func(s *stand, c *client) {
			c.send(get("/held"), "G")
			s.await(1, listener.Serving)
			s.pass(1000)
			s.finish()
			s.await(1, listener.Reading)
		}, 10, []reply{ok("GET /held ")}},
		"reply": {func(s *stand, c *client) {
			c.send(get("/now?pad=300000"))
			s.await(1, listener.Writing)
		}, 10, nil},
		"lingering": {func(s *stand, c *client) {
			c.send("bad\r\n")
			for range 4 {
				s.await(1, listener.Lingering)
				s.pass(1)
				c.send("more")
			}
		}, 5 - 4, []reply{refused(3)}},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, listener.Config{})
			c := s.dialNarrow()
			test.enter(s, c)
			s.pass(test.seconds)
			if s.limiter.Count() != 1 {
				t.Fatalf("ended before %d seconds", test.seconds)
			}
			s.pass(1)
			if s.limiter.Count() != 0 {
				t.Fatalf("not ended %d seconds after its time began", test.seconds+1)
			}
			c.want(test.replies...)
			if name != "reply" {
				c.wantEnd()
			}
		})
	}
}

// Each part of a reply that the client reads gives it more time.
func TestTimeoutOfEachPart(t *testing.T) {
	const pad = 300_000
	s := open(t, listener.Config{})
	c := s.dialNarrow()
	c.send(get(fmt.Sprintf("/now?pad=%d", pad)))
	s.await(1, listener.Writing)
	unsent := func() (n int) {
		s.onLoop(func() { n = len(s.only().unsent) })
		return n
	}
	for before := unsent(); ; {
		s.pass(9)
		for unsent() == before {
			if _, err := c.replies.Discard(1000); err != nil {
				t.Fatal(err)
			}
		}
		if before = unsent(); before < pad/2 {
			break
		}
	}
	s.pass(10)
	if s.limiter.Count() != 1 {
		t.Fatal("ended before the part had its time")
	}
	s.pass(1)
	s.awaitNone()
}

// Those that are over their time end together; the others stay, wherever they stand in the list.
func TestTimeoutsOfMany(t *testing.T) {
	s := open(t, listener.Config{})
	var silent, used []*client
	for range sweptMax/2 + 1 { // more than one turn looks at, and closes
		silent = append(silent, s.dial())
		c := s.dial()
		c.send(get("/now"))
		c.want(ok("GET /now "))
		used = append(used, c)
	}
	testkit.Until(t, "each state", func() bool {
		states := s.states()
		return states[listener.Opening] == len(silent) && states[listener.Idle] == len(used)
	})
	s.pass(11)
	for _, c := range silent {
		c.wantEnd()
	}
	for _, c := range used {
		c.send(get("/now"))
		c.want(ok("GET /now "))
	}
	if n := s.limiter.Count(); n != len(used) {
		t.Errorf("%d connections are left, want %d", n, len(used))
	}
}
