package testkit

import (
	"context"
	"fmt"
	"testing"
	"time"
)

const (
	// Patience bounds what hangs and is no expectation: with -race on a busy machine a start takes seconds.
	Patience = 40 * time.Second

	pace = 5 * time.Millisecond // between two looks
)

// Until returns once the condition holds; it ends the test when that takes longer than Patience. what names
// the state in the message.
func Until(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	if err := Await(context.Background(), what, Patience, holds); err != nil {
		tb.Fatal(err)
	}
}

// Await returns once the condition holds. It is an error when that takes longer than limit or ctx ends
// before.
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
