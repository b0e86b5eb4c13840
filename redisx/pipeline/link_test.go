package pipeline

import (
	"context"
	"os"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// A connection that comes when the loop has ended is closed, and Run ends with its context.
func TestLoopHasEnded(t *testing.T) {
	testkit.KeepLog(t)
	loop := newFakeLoop()
	loop.over = true
	c := New(unix(redistest.Start(t)), Options{Loop: loop})
	use := func() {
		l, err := Dial(t.Context(), c.cfg)
		testkit.Must(t, err)
		if err := c.use(t.Context(), l); err != errLoopEnded || c.up.Load() {
			t.Errorf("a loop that has ended serves: %v", err)
		}
	}
	use() // the runtime opens descriptors of its own for the first one
	before := descriptors(t)
	for range 3 {
		use()
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Run(ctx); err != nil {
		t.Error(err)
	}
}

func descriptors(tb testing.TB) int {
	tb.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	testkit.Must(tb, err)
	return len(open)
}
