package listener

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"

	"flashsale/internal/testkit"
)

// Each step admits an address, or gives back the slot of an earlier step.
func TestAdmitAndLeave(t *testing.T) {
	type step struct {
		from  string // "" to leave
		leave int    // the step that had the slot
		ok    bool
		count int // afterwards
	}
	for name, test := range map[string]struct {
		cfg   Config
		steps []step
	}{
		"no limits": {Config{}, []step{{"10.0.0.1", 0, true, 1}, {"10.0.0.1", 0, true, 2}, {"", 0, true, 1}}},
		"all": {Config{ConnsMax: 2}, []step{
			{"10.0.0.1", 0, true, 1}, {"10.0.0.2", 0, true, 2}, {"10.0.0.3", 0, false, 2}, {"", 0, true, 1},
			{"10.0.0.3", 0, true, 2}, {"10.0.0.1", 0, false, 2},
		}},
		"address": {Config{ConnsPerAddressMax: 1}, []step{
			{"10.0.0.1", 0, true, 1}, {"10.0.0.1", 0, false, 1}, {"10.0.0.2", 0, true, 2}, {"", 2, true, 1},
			{"10.0.0.1", 0, false, 1}, {"10.0.0.2", 0, true, 2}, {"", 0, true, 1}, {"10.0.0.1", 0, true, 2},
		}},
		"share of an address": {Config{ConnsMax: 4}, []step{
			{"10.0.0.1", 0, true, 1}, {"10.0.0.1", 0, true, 2}, {"10.0.0.1", 0, true, 3}, {"10.0.0.1", 0, false, 3},
			{"10.0.0.2", 0, true, 4}, {"", 0, true, 3}, {"", 1, true, 2}, {"10.0.0.1", 0, true, 3},
		}},
		"this machine": {Config{ConnsMax: 4}, []step{
			{"127.0.0.1", 0, true, 1}, {"127.0.0.1", 0, true, 2}, {"::1", 0, true, 3}, {"127.0.0.1", 0, true, 4},
		}},
		"this machine, by number": {Config{ConnsPerAddressMax: 1}, []step{
			{"127.0.0.1", 0, true, 1}, {"127.0.0.1", 0, false, 1},
		}},
		"network of IPv6": {Config{ConnsPerAddressMax: 1}, []step{
			{"2001:db8::1", 0, true, 1}, {"2001:db8::2", 0, false, 1}, {"2001:db8:0:1::1", 0, true, 2},
			{"", 0, true, 1}, {"2001:db8::2", 0, true, 2},
		}},
		"proxies": {Config{ConnsMax: 3, ConnsPerAddressMax: 1,
			TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}}, []step{
			{"10.0.0.1", 0, true, 1}, {"10.0.0.1", 0, true, 2}, {"10.0.1.1", 0, true, 3},
			{"10.0.0.1", 0, false, 3}, {"", 1, true, 2}, {"10.0.1.1", 0, false, 2}, {"10.0.0.1", 0, true, 3},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.KeepLog(t)
			l := NewLimiter(test.cfg)
			slots := make([]Slot, len(test.steps))
			for i, s := range test.steps {
				ok := true
				if s.from == "" {
					l.Leave(slots[s.leave])
				} else {
					slots[i], ok = l.Admit(netip.MustParseAddr(s.from))
				}
				if ok != s.ok || l.Count() != s.count {
					t.Fatalf("step %d: %v with %d slots, want %v with %d", i, ok, l.Count(), s.ok, s.count)
				}
			}
		})
	}
}

// No address is left behind: the limiter would grow with every client there ever was.
func TestLeaveForgets(t *testing.T) {
	l := NewLimiter(Config{ConnsPerAddressMax: 2})
	var slots []Slot
	for i := range 100 {
		p, ok := l.Admit(netip.MustParseAddr(fmt.Sprintf("10.0.0.%d", i/2)))
		if !ok {
			t.Fatalf("address %d is refused", i/2)
		}
		slots = append(slots, p)
	}
	for _, p := range slots {
		l.Leave(p)
	}
	if len(l.addresses) != 0 || l.Count() != 0 {
		t.Errorf("%d addresses and %d slots are left", len(l.addresses), l.Count())
	}
}

// A connection that is held is ended in its time. It gives its slot back at its end, or with LetGo not.
func TestHoldAndLetGo(t *testing.T) {
	l := NewLimiter(Config{})
	hold := func() (*Conn, net.Conn) {
		t.Helper()
		server, client := net.Pipe()
		p, ok := l.Admit(netip.Addr{})
		if !ok {
			t.Fatal("refused")
		}
		return l.Hold(server, p), client
	}
	late := func() {
		for range IdleTimeout/TickInterval + 1 {
			l.Tick()
		}
	}

	c, client := hold()
	if state, _ := c.State(); state != Opening || l.Count() != 1 {
		t.Errorf("state %d with %d slots", state, l.Count())
	}
	socket, slot, open := c.LetGo()
	if !open || socket != c.socket || slot != c.slot || l.Count() != 1 {
		t.Errorf("let go: %v of %v, open %v, with %d slots", slot, socket, open, l.Count())
	}
	late() // its time is its owner's now
	go client.Write([]byte("a"))
	if _, err := socket.Read(make([]byte, 1)); err != nil {
		t.Errorf("read after it was let go: %v", err)
	}
	if _, _, open := c.LetGo(); open {
		t.Error("let go twice")
	}
	c.Close() // gives no slot back: LetGo did that
	if l.Count() != 1 {
		t.Errorf("%d slots, want 1", l.Count())
	}
	l.Leave(slot)

	c, client = hold()
	late()
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("read after its time: %v", err)
	}
	c.Close()
	if _, _, open := c.LetGo(); open || l.Count() != 0 {
		t.Errorf("closed: open %v, with %d slots", open, l.Count())
	}
}
