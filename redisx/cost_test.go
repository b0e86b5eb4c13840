package redisx

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"testing"

	"flashsale/internal/serve/eventloop/looptest"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// An order of an open sale makes the calls that it needs anyway: the states add none to them, whether the
// sale has times or not. What comes on top, the time and the number of orders, comes once for all orders of
// a call.
func TestCallsOfAnOrder(t *testing.T) {
	for name, times := range map[string]string{"no times": "", "times": "opens_at=past closes_at=later"} {
		t.Run(name, func(t *testing.T) {
			onServers(t, func(t *testing.T, server *redistest.Server, cfg Config) {
				testCallsOfAnOrder(t, server, cfg, times)
			})
		})
	}
}

func testCallsOfAnOrder(t *testing.T, server *redistest.Server, cfg Config, times string) {
	const orders = 40
	s := open(t, cfg, orders)
	put(t, cfg, times)
	for i := range orders {
		testkit.Must(t, s.addToCart(uint32(i+2), cartName(i), 1, 1))
	}
	if found, err := s.Snapshot(); err != nil || found.State != StateOpen {
		t.Fatalf("%+v, %v; want open", found, err)
	}
	server.Do(t, "CONFIG RESETSTAT")
	done := make(outcome, orders)
	looptest.On(cfg.Loop, func() {
		for i := range orders {
			s.PlaceOrder(uint32(i+2), cartName(i), nil, done)
		}
	})
	for range orders {
		testkit.Must(t, <-done)
	}
	calls := callsOf(t, cfg)
	scripts := calls["evalsha"]
	if scripts < 1 || scripts > orders {
		t.Fatalf("%d calls of the script for %d orders", scripts, orders)
	}
	want := map[string]int{"evalsha": scripts, "exists": scripts + orders, "getdel": orders,
		"hincrby": orders + scripts, "time": scripts, "set": orders}
	if !maps.Equal(calls, want) {
		t.Errorf("calls %v\nwant  %v", calls, want)
	}
}

var callCount = regexp.MustCompile(`(?m)^cmdstat_([a-z|]+):calls=(\d+)`)

// callsOf is how often each command was called since CONFIG RESETSTAT, without those that look after
// connections.
func callsOf(t *testing.T, cfg Config) map[string]int {
	t.Helper()
	calls := map[string]int{}
	for _, line := range callCount.FindAllStringSubmatch(rawString(t, cfg, "INFO", "commandstats"), -1) {
		n, err := strconv.Atoi(line[2])
		testkit.Must(t, err)
		calls[line[1]] = n
	}
	for _, own := range []string{"config|resetstat", "info", "ping", "hello"} {
		delete(calls, own)
	}
	return calls
}

// Refused orders are no dearer in a sale that is shut than they have to be: one look at the marker and one
// at the clock for all orders of a call.
func TestCallsOfARefusedOrder(t *testing.T) {
	onServers(t, func(t *testing.T, server *redistest.Server, cfg Config) {
		s := open(t, cfg, 5)
		put(t, cfg, "paused=1")
		if _, err := s.Snapshot(); err != nil {
			t.Fatal(err)
		}
		server.Do(t, "CONFIG RESETSTAT")
		if err := s.placeOrder(2, cartName(2), nil); err != ErrPaused {
			t.Fatalf("%v, want ErrPaused", err)
		}
		const want = "map[del:1 evalsha:1 exists:3 hmget:1 time:1]"
		if got := fmt.Sprint(callsOf(t, cfg)); got != want {
			t.Errorf("calls %s, want %s", got, want)
		}
	})
}
