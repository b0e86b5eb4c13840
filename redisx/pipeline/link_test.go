package pipeline

import (
	"context"
	"errors"
	"os"
	"testing"

	"flashsale/internal/serve/rawio"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// A link that is handed over is closed, and its connection serves on. (Watched by the Go runtime too, each
// reply would wake one of its threads.)
func TestDetach(t *testing.T) {
	cfg := unix(redistest.Start(t))
	l, err := Dial(t.Context(), cfg)
	testkit.Must(t, err)
	fd, err := l.detach()
	testkit.Must(t, err)
	defer rawio.Close(fd)
	if _, err := l.socket.Write([]byte("PING\r\n")); err == nil {
		t.Error("the link is still open")
	}
	if _, err := rawio.Send(fd, []byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	reply := make([]byte, 64)
	testkit.Until(t, "a reply", func() bool {
		n, err := rawio.Receive(fd, reply)
		if err != nil && !errors.Is(err, rawio.ErrAgain) {
			t.Fatal(err)
		}
		return err == nil && string(reply[:n]) == "+PONG\r\n"
	})
}

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
