package main

import (
	"bytes"
	"strings"
	"testing"
)

// The shop has 201 users: 100 flows, and the same again should this process be late; 125 are too many.
func TestRampTakesOtherUsersInEachStep(t *testing.T) {
	s := newShop(builtIn(t, 10, 1000), honest)
	address := s.open(t)
	common := []string{"-addr", address, "-users", "201", "-foods", "10", "-stock", "1000", "-root-password",
		"secret", "-seed", "7",
		"-ramp", "-duration", "200ms"}
	var stdout, stderr bytes.Buffer
	if code := exitCode(run(append(common, "-rate", "500"), &stdout, &stderr), &stderr); code != 0 {
		t.Fatalf("exit %d: %s", code, &stderr)
	}
	if n := len(s.orders); n != 100 && n != 200 || !strings.Contains(stdout.String(), "  ended: ") ||
		strings.Contains(stdout.String(), "FAIL") {
		t.Errorf("%d orders\n%s", len(s.orders), &stdout)
	}
	stdout.Reset()
	if code := exitCode(run(append(common, "-rate", "5000"), &stdout, &stderr), &stderr); code != exitUsage {
		t.Errorf("exit %d: %s", code, &stdout)
	}
	want := "  knee: not found, no step held; begin lower with -rate\n" +
		"  ended: the next step takes 1000 users who never bought and there are "
	if !strings.Contains(stdout.String(), want) {
		t.Errorf("got\n%s", &stdout)
	}
}

// There are 100 pieces for 100 orders of two on average, so about half of the first step is refused.
func TestRampEndsAtTheKnee(t *testing.T) {
	s := newShop(builtIn(t, 10, 10), honest)
	rep, stderr, code := bench(t, []string{s.open(t)}, 10, 10, "ramp", "-users", "1001", "-concurrency",
		"10", "-rate", "500",
		"-duration", "200ms", "-timeout", "1m", "-seed", "7")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if r := rep.Ramp; len(r.Steps) != 1 || r.Knee != nil || r.Steps[0].Flows != 100 ||
		r.Steps[0].Placed != len(s.orders) ||
		!strings.Contains(r.Ended, "less than 95%") {
		t.Errorf("%d orders, ramp = %+v", len(s.orders), r)
	}
}
