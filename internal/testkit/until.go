package testkit

import (
	"context"
	"fmt"
	"testing"
	"time"
)

const (
	// Patience ends a test that hangs. It is long: with -race on a busy machine a start takes seconds.
	Patience = 40 * time.Second

	pace = 5 * time.Millisecond // between two checks of a condition
)

// Until returns once the condition holds, and ends the test after Patience. what names the state in the
// message.
func Until(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	if err := Await(context.Background(), what, Patience, holds); err != nil {
		tb.Fatal(err)
	}
}

// Await returns once the condition holds, or an error after limit or at the end of ctx.
func Await(ctx context.Context, what string, limit time.Duration, holds func() bool) error {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	deadline := time.After(limit)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			return fmt.Errorf("no %s within %v", what, limit)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
