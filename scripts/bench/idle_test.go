package main

import (
	"testing"

	"flashsale/scripts/bench/load"
)

func TestIdleConnectionsAreReported(t *testing.T) {
	s := newShop(builtIn(t, 10, 1000), honest)
	rep, stderr, code := bench(t, []string{s.open(t), s.open(t)}, 10, 1000, "-idle", "7")
	if code != 0 || rep.Idle == nil || *rep.Idle != (load.IdleReport{Opened: 7, Held: 7}) {
		t.Errorf("exit %d: %s %+v", code, stderr, rep.Idle)
	}
}
