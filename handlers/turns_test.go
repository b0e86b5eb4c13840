package handlers

import (
	"net/netip"
	"testing"
)

// A network has a few places, whatever addresses it uses; another network has its own.
func TestTurns(t *testing.T) {
	h := turns{}
	enter := func(address string) bool { return h.enter(networkOf(netip.MustParseAddr(address))) }
	for i, address := range []string{"2001:db8::1", "2001:db8:0:1::2", "2001:db8:0:ffff::1", "2001:db8::4",
		"2001:db8::5"} {
		if got := enter(address); got != (i < turnsMax) {
			t.Errorf("%d from a network: %v", i, got)
		}
	}
	if !enter("192.0.2.1") || !enter("2001:db8:1::1") {
		t.Error("another network does not get in")
	}
	h.leave(networkOf(netip.MustParseAddr("2001:db8::9")))
	if !enter("2001:db8::5") || enter("2001:db8::5") {
		t.Error("a place that was left is not free once")
	}
	for range turnsMax {
		h.leave(networkOf(netip.MustParseAddr("2001:db8::1")))
	}
	h.leave(networkOf(netip.MustParseAddr("::ffff:192.0.2.1")))
	h.leave(networkOf(netip.MustParseAddr("2001:db8:1::1")))
	if len(h.networks) != 0 {
		t.Errorf("networks are kept: %v", h.networks)
	}
}
