package handlers

import (
	"errors"
	"net/netip"
	"testing"

	"flashsale/internal/credentials"
	"flashsale/internal/testkit"
)

// A network has a few places, whatever addresses it uses; another network has its own.
func TestTurns(t *testing.T) {
	h := turns{}
	enter := func(address string) bool { return h.enter(networkOf(netip.MustParseAddr(address)), false) }
	for i, address := range []string{"2001:db8::1", "2001:db8:0:1::2", "2001:db8:0:ffff::1", "2001:db8::4",
		"2001:db8::5"} {
		if got := enter(address); got != (i < turnsMax) {
			t.Errorf("%d from a network: %v", i, got)
		}
	}
	if !enter("192.0.2.1") || !enter("2001:db8:1::1") {
		t.Error("another network does not get in")
	}
	h.leave(networkOf(netip.MustParseAddr("2001:db8::9")), false)
	if !enter("2001:db8::5") || enter("2001:db8::5") {
		t.Error("a place that was left is not free once")
	}
	for range turnsMax {
		h.leave(networkOf(netip.MustParseAddr("2001:db8::1")), false)
	}
	h.leave(networkOf(netip.MustParseAddr("::ffff:192.0.2.1")), false)
	h.leave(networkOf(netip.MustParseAddr("2001:db8:1::1")), false)
	if len(h.networks) != 0 {
		t.Errorf("networks are kept: %v", h.networks)
	}
}

// Strangers from however many addresses leave places to networks from which operators have logged in.
func TestStrangersLeavePlaces(t *testing.T) {
	home := netip.MustParseAddr("192.0.2.1")
	h := turns{knows: func(network netip.Addr) bool { return network == home }}
	var inside func(i int) error
	inside = func(i int) error { // each call is under way while the next one comes
		switch from := netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}); {
		case i < strangersMax:
			return h.run(from, func() error { return inside(i + 1) })
		case !errors.Is(h.run(from, func() error { return nil }), credentials.ErrBusy):
			t.Error("one more stranger gets in")
		}
		return h.run(home, func() error { return nil })
	}
	testkit.Must(t, inside(0))
	testkit.Same(t, "strangers in the end", h.strangers, 0)
}
