package eventloop

import (
	"testing"

	"flashsale/internal/serve/listener"
	"flashsale/internal/testkit"
)

// What a client that has gone does not get is not sent to anybody else.
func TestReset(t *testing.T) {
	for name, test := range map[string]func(s *stand, c *client){
		"while its answer is later": func(s *stand, c *client) {
			c.send(get("/held"))
			s.awaitHandled(1)
			c.reset()
			s.finish()
		},
		"while its second answer is later": func(s *stand, c *client) {
			c.send(get("/now"), get("/held"))
			c.want(ok("GET /now "))
			c.reset()
			s.finish()
		},
		"with its request": func(s *stand, c *client) {
			s.onLoop(func() { // it is seen after the reset
				c.send(get("/now"), get("/now"))
				c.reset()
			})
		},
		"while idle": func(s *stand, c *client) {
			c.send(get("/now"))
			c.want(ok("GET /now "))
			s.await(1, listener.Idle)
			c.reset()
		},
		"in the middle of a request": func(s *stand, c *client) {
			c.send(get("/now"), "GET /cut")
			c.want(ok("GET /now "))
			s.await(1, listener.Reading)
			c.reset()
		},
		"while a reply waits for room": func(s *stand, c *client) {
			c.fill("/now")
			s.await(1, listener.Writing)
			c.reset()
		},
		"while a reply waits for room and the next is later": func(s *stand, c *client) {
			c.fill("/held")
			s.await(1, listener.Serving)
			c.reset()
			testkit.Until(t, "broken connection", func() (gone bool) {
				s.onLoop(func() { gone = s.only().ending == broken })
				return gone
			})
			s.finish()
		},
		"while many replies wait": func(s *stand, c *client) {
			s.onLoop(func() {
				c.fill("/now?pad=60000")
				c.reset()
			})
		},
		"while it lingers": func(s *stand, c *client) {
			c.send("bad\r\n")
			s.await(1, listener.Lingering)
			c.reset()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, listener.Config{})
			c := s.dialNarrow()
			test(s, c)
			s.awaitNone()
			next := s.dial()
			next.send(get("/next"))
			next.want(ok("GET /next "))
		})
	}
}

// fill has the server make a reply for which there is no room, and one of a path behind it.
func (c *client) fill(path string) {
	c.s.Helper()
	c.send(get("/now?pad=60000"), get(path))
}
