// Package looptest runs an event loop for tests.
package looptest

import (
	"testing"

	"flashsale/internal/serve/eventloop"
	"flashsale/internal/testkit"
)

// Run runs a loop until the test ends. Cleanups registered after Run come before that and may use the loop.
func Run(tb testing.TB) *eventloop.Loop {
	tb.Helper()
	loop, err := eventloop.New()
	testkit.Must(tb, err)
	testkit.Background(tb, loop.Run)
	return loop
}

// Poster is what On needs of a loop.
type Poster interface{ Post(f func()) bool }

// On runs f on the thread of a loop and returns after f. Without a loop (nil) it runs f itself; on a loop
// that has ended, f does not run.
func On(loop Poster, f func()) {
	if loop == nil {
		f()
		return
	}
	done := make(chan struct{})
	if loop.Post(func() { f(); close(done) }) {
		<-done
	}
}
