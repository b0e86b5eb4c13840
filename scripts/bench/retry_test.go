package main

import (
	"reflect"
	"testing"

	"flashsale/scripts/bench/load"
)

func TestRetrySettles(t *testing.T) {
	tests := map[string]struct {
		lie     lie
		retries []load.EventCount
		settled int
		failed  []string
	}{
		"nothing open": {honest, []load.EventCount{}, 0, nil},
		"order answered 503": {failsOrder, []load.EventCount{{Step: "order", Name: "sent again",
			Count: 1}}, 1, nil},
		// the client itself sends it again, on a new connection
		"order without answer": {hangsUp, nil, 0, nil},
		"add answered 503": {failsAdd, []load.EventCount{{Step: "add", Name: "put into a new cart",
			Count: 1}}, 0, nil},
		"key not known": {forgetsKey, []load.EventCount{{Step: "order", Name: "sent again", Count: 1}}, 1,
			[]string{"no order came from nowhere, none that was refused"}},
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
