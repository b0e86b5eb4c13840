package main

import (
	"fmt"
	"reflect"
	"sync"
	"testing"

	"flashsale/scripts/bench/audit"
	"flashsale/scripts/bench/load"
)

func TestLiesAreFound(t *testing.T) {
	lies := map[string]struct {
		lie   lie
		stock int
		want  []string
	}{
		"loses an order":        {losesOrder, 1000, []string{audit.Acknowledged}},
		"sells twice":           {sellsTwice, 3, []string{audit.Oversold, audit.Stock}},
		"swaps a food":          {swapsFood, 1000, []string{audit.Sent}},
		"takes two of one user": {takesMany, 1000, []string{audit.OnePerUser, audit.Unexpected}},
		"keeps a refused order": {hidesOrder, 1000, []string{audit.Unexpected}},
	}
	for name, test := range lies {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // stock that never adds up takes the whole lag to be believed
			s := newShop(builtIn(t, 10, test.stock), test.lie)
			addresses := []string{s.open(t)}
			rep, stderr, code := bench(t, addresses, 10, test.stock)
			if code != exitAudit || !reflect.DeepEqual(failed(rep.Audit), test.want) {
				t.Errorf("exit %d, failed checks %q, want %q; %s", code, failed(rep.Audit),
					test.want, stderr)
			}
			if test.lie == sellsTwice { // an audit alone finds it too: it is no wrong flag
				rep, stderr, code = bench(t, addresses, 10, test.stock, "audit")
				if code != exitAudit || !reflect.DeepEqual(failed(rep.Audit), test.want) {
					t.Errorf("audit: exit %d, failed checks %q; %s", code, failed(rep.Audit), stderr)
				}
			}
		})
	}
}

// What a client learns of an order that was answered 503, or not at all, when it asks again under its key.
func TestRetrySettles(t *testing.T) {
	once := func(step, name string) []load.EventCount {
		return []load.EventCount{{Step: step, Name: name, Count: 1}}
	}
	tests := map[string]struct {
		lie     lie
		retries []load.EventCount
		settled int
		failed  []string
	}{
		"order answered 503": {failsOrder, once("order", "sent again"), 1, nil},
		// the client itself sends it again, on a new connection
		"order without answer": {hangsUp, nil, 0, nil},
		"add answered 503":     {failsAdd, once("add", "put into a new cart"), 0, nil},
		"key not known":        {forgetsKey, once("order", "sent again"), 1, []string{audit.Unexpected}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShop(builtIn(t, 10, 1000), test.lie)
			rep, stderr, code := bench(t, []string{s.open(t)}, 10, 1000, "-retry")
			if got := failed(rep.Audit); !reflect.DeepEqual(got, test.failed) ||
				(code == 0) != (test.failed == nil) || len(rep.Audit) != 11 {
				t.Fatalf("exit %d, failed checks %q; %s", code, got, stderr)
			}
			l := rep.Load
			if l.Placed+l.Refused != 100 || l.Unknown != 0 || len(s.orders) != 100 ||
				l.Settling.Stranded != 0 || l.Settling.Settled != test.settled {
				t.Errorf("load %+v, settling %+v", l, l.Settling)
			}
			if test.retries != nil && !reflect.DeepEqual(l.Settling.Retries, test.retries) {
				t.Errorf("retries %+v, want %+v", l.Settling.Retries, test.retries)
			}
		})
	}
}

func TestUnknownOutcomeIsAllowed(t *testing.T) {
	s := newShop(builtIn(t, 10, 1000), failsOrder)
	rep, stderr, code := bench(t, []string{s.open(t)}, 10, 1000)
	if code != 0 || rep.Load.Placed != 99 || rep.Load.Unknown != 1 || len(s.orders) != 100 {
		t.Errorf("exit %d, load %+v; %s", code, rep.Load, stderr)
	}
}

// A wrong flag is named as such, before a load of a new sale and in an audit of an old one: it is no
// violation.
func TestWrongFlagsAreNoViolation(t *testing.T) {
	s := newShop(builtIn(t, 10, 1000), honest)
	s.users = 201
	addresses := []string{s.open(t)}
	for _, mode := range []string{"load", "audit"} {
		left := s.foods[0].Stock
		began := fmt.Sprintf("began with 1000 pieces of food 1 (%d left + %d sold), bench was told ",
			left, 1000-left)
		var runs sync.WaitGroup // at once, because a wrong stock takes the whole lag to be believed
		for flag, want := range map[string]string{
			"-foods=9": "sells 10 foods, bench was told 9", "-users=200": "has 201 users, bench was told 200",
			"-stock=1": began + "1", "-stock=5000": began + "5000",
		} {
			want = "bench: bad usage: " + addresses[0] + " " + want +
				"; give bench the server's catalogue settings (-users, -foods, -stock, ...)\n"
			runs.Go(func() {
				if _, stderr, code := bench(t, addresses, 10, 1000, mode, flag); code != exitUsage || stderr != want {
					t.Errorf("%s %s: exit %d, stderr %q, want %q", mode, flag, code, stderr, want)
				}
			})
		}
		runs.Wait()
		if _, stderr, code := bench(t, addresses, 10, 1000); code != 0 || s.foods[0].Stock == 1000 {
			t.Fatalf("exit %d: %s", code, stderr)
		}
	}
}
