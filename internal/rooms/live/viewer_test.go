package live

import (
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"

	"flashsale/internal/testkit"
)

// A viewer ends with what lets it see more, and is told when to come back; the others go on.
func TestUntil(t *testing.T) {
	s := openStand(t, 10)
	s.keys = `[{"key":"k","hits":3}]`
	public, root := s.join(false, 0), s.joinAs(Viewer{Root: true, Until: start + 2})
	public.want(s.hello(s.noOrders()))
	root.want(s.hello(s.noOrders()))
	s.pass()
	root.want(quiet(start) + event("top", start, `{"keys":[{"key":"k","hits":3}]}`))
	s.pass()
	root.want("retry: 1500\n\n")
	root.wantEnd()
	s.awaitViewers(1)
	public.want(quiet(start) + quiet(start+1))
	if s.roots != 0 {
		t.Errorf("%d viewers are root", s.roots)
	}
}

// A viewer ends within a second after its login.
func TestEnded(t *testing.T) {
	s := openStand(t, 10)
	var ended atomic.Bool
	viewer := s.joinAs(Viewer{Until: start + 99, Ended: ended.Load})
	viewer.want(s.hello(s.noOrders()))
	s.pass()
	viewer.want(quiet(start))
	ended.Store(true)
	s.pass()
	viewer.want("retry: 1500\n\n")
	viewer.wantEnd()
	s.awaitViewers(0)
}

// Over its limit, and three quarters of the connections, the Hub takes no viewer.
func TestLimit(t *testing.T) {
	s := openStand(t, 2)
	first := s.join(false, 0)
	s.join(false, 0)
	if s.Reserve(netip.Addr{}) {
		t.Error("a third viewer gets a place")
	}
	first.Close()
	s.awaitViewers(1)
	if !s.Reserve(netip.Addr{}) {
		t.Error("the place of a viewer that has gone is not free")
	}
	s.Release(netip.Addr{})
	s.worker.ConnectionsMax.Set(2)
	if s.Reserve(netip.Addr{}) {
		t.Error("viewers take all connections")
	}
	s.worker.ConnectionsMax.Set(8)
	s.End()
	if s.Reserve(netip.Addr{}) {
		t.Error("a viewer gets a place at the end")
	}
}

// One address has three quarters of the places, this machine all of them.
func TestLimitOfAddress(t *testing.T) {
	s := openStand(t, 4)
	home, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for i := range 4 {
		testkit.Same(t, fmt.Sprint("place ", i), s.Reserve(home), i < 3)
	}
	testkit.Same(t, "another address", s.Reserve(other), true)
	testkit.Same(t, "one more", s.Reserve(other), false)
	for range 3 {
		s.Release(home)
	}
	s.Release(other)
	for range 4 {
		testkit.Same(t, "this machine", s.Reserve(netip.MustParseAddr("127.0.0.1")), true)
	}
	testkit.Same(t, "addresses that are kept", len(s.takenBy), 0)
}

// Viewers that have gone are noticed, however they went, and so are those that send something.
func TestEndedViewers(t *testing.T) {
	s := openStand(t, 10)
	for name, leave := range map[string]func(*client){
		"closed":      func(c *client) { c.Close() },
		"half-closed": func(c *client) { c.Conn.(*net.TCPConn).CloseWrite() },
		"reset": func(c *client) {
			c.Conn.(*net.TCPConn).SetLinger(0)
			c.Close()
		},
		"talks": func(c *client) { fmt.Fprint(c, "GET") },
	} {
		t.Run(name, func(t *testing.T) {
			stays, c := s.join(false, 0), s.join(false, 0)
			stays.want(s.hello(s.noOrders()))
			leave(c)
			s.awaitViewers(1)
			s.pass()
			stays.want(quiet(s.id()))
			stays.Close()
			s.awaitViewers(0)
		})
	}
	if n := s.worker.ViewersDropped.Value(); n != 0 {
		t.Errorf("%d viewers are counted as slow", n)
	}
}

// All viewers are told when to come back, at different times, and those that want to join as well.
func TestEnd(t *testing.T) {
	s := openStand(t, 10)
	c := s.join(false, 0)
	c.want(s.hello(s.noOrders()))
	late, far := s.connect()
	if !s.Reserve(netip.Addr{}) {
		t.Fatal("a viewer is refused")
	}
	s.End()
	s.Join(Viewer{Stream: NewStream(far, s.limiter), Head: []byte(head)})
	s.awaitViewers(0)
	c.want("retry: 1500\n\n")
	c.wantEnd()
	late.want(s.hello(s.noOrders()) + "retry: 1500\n\n")
	late.wantEnd()
}
