package eventloop

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"flashsale/internal/serve/listener"
	"flashsale/internal/testkit"
)

// lent is a connection that the other server has.
type lent struct {
	net.Conn
	slot   listener.Slot
	unread string
}

// lend has the other server hold what it gets.
func (s *stand) lend() chan lent {
	all := make(chan lent, 16)
	s.onLoop(func() {
		s.away = func(socket net.Conn, slot listener.Slot, unread []byte) {
			all <- lent{socket, slot, string(unread)}
		}
	})
	return all
}

// The other server gets all that has come, and the loop goes on with what that server has left.
func TestAwayAndReturn(t *testing.T) {
	s := open(t, listener.Config{ConnsPerAddressMax: 1})
	away := s.lend()
	c := s.dial()
	text := get("/away") + get("/now/2") + get("/later/3") + "GET /now/4 HT"
	c.send(get("/now"), text)
	l := <-away
	c.want(ok("GET /now "))
	if l.unread != text {
		t.Errorf("handed over is %q, want %q", l.unread, text)
	}
	if l.RemoteAddr().String() != c.LocalAddr().String() {
		t.Errorf("of %v, want %v", l.RemoteAddr(), c.LocalAddr())
	}
	if states := s.states(); len(states) != 0 || s.limiter.Count() != 1 {
		t.Errorf("the loop has %v of it, the limiter counts %d", states, s.limiter.Count())
	}
	s.onLoop(func() {
		if n := s.watches(); n != 2 {
			t.Errorf("%d descriptors are watched, want 2", n)
		}
	})
	s.pass(1000) // its time is the other server's

	s.onLoop(func() { s.watch = func(x *Exchange) { peer(t, x, c) } })
	s.Return(l.Conn, l.slot, []byte(text[len(get("/away")):]))
	c.want(ok("GET /now/2 "), ok("GET /later/3 "))
	s.await(1, listener.Reading)
	c.send("TP/1.1\r\nHost: h\r\n\r\n", get("/away/5"))
	c.want(ok("GET /now/4 "))
	l = <-away
	s.Return(l.Conn, l.slot, nil)
	s.await(1, listener.Idle)
	c.Close()
	s.awaitNone()
}

func peer(t *testing.T, x *Exchange, c *client) {
	t.Helper()
	if got, want := x.RemoteAddr().String(), c.LocalAddr().String(); got != want {
		t.Errorf("a request of %s, want %s", got, want)
	}
}

// A client that goes while its connection is lent leaves nothing behind.
func TestGoneWhileAway(t *testing.T) {
	for name, leave := range map[string]func(c *client){
		"half-closed": func(c *client) { c.CloseWrite() },
		"closed":      func(c *client) { c.Close() },
		"reset":       (*client).reset,
	} {
		for _, unread := range []string{"", get("/later"), get("/now") + "G"} {
			t.Run(name+" "+unread, func(t *testing.T) {
				s := open(t, listener.Config{})
				away := s.lend()
				c := s.dial()
				c.send(get("/away"))
				l := <-away
				leave(c)
				s.Return(l.Conn, l.slot, []byte(unread))
				s.awaitNone()
			})
		}
	}
}

// What cannot come back gives its slot and its descriptor back.
func TestReturnFails(t *testing.T) {
	s := open(t, listener.Config{})
	away := s.lend()
	c, other := s.dial(), s.dial()
	c.send(get("/away"))
	l := <-away
	other.send(get("/away"))
	second := <-away
	l.Close()
	s.Return(l.Conn, l.slot, []byte(get("/now")))
	if n := s.limiter.Count(); n != 1 {
		t.Errorf("%d slots are taken after the return of a closed connection, want 1", n)
	}
	c.wantEnd()
	s.end()
	s.Return(second.Conn, second.slot, []byte(get("/now")))
	if n := s.limiter.Count(); n != 0 {
		t.Errorf("%d slots are taken after the end of the loop", n)
	}
	other.wantEnd()
}

// A connection that cannot be handed over for want of descriptors is closed.
func TestAwayWithoutDescriptors(t *testing.T) {
	s := open(t, listener.Config{})
	c := s.dial()
	s.await(1, listener.Opening)
	var files unix.Rlimit
	testkit.Must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &files))
	none := files
	none.Cur = 0
	s.onLoop(func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
			t.Error(err)
		}
	})
	c.send(get("/away"))
	testkit.Until(t, "end", func() bool { return s.limiter.Count() == 0 })
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		t.Error(err)
	}
	c.wantEnd()
	s.awaitNone()
}
