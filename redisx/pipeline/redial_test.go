package pipeline

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"flashsale/internal/serve/eventloop/looptest"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// A connection that does not come about is dialled again soon, however long a call may take.
func TestRedialIsShort(t *testing.T) { onEngines(t, testRedialIsShort) }

func testRedialIsShort(t *testing.T, loop Loop) {
	testkit.KeepLog(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	defer silent.Close()
	err = silent.(*net.TCPListener).SetDeadline(time.Now().Add(testkit.Patience))
	testkit.Must(t, err)
	// The password makes a dial wait for a first reply.
	cfg := Config{Network: "tcp", Address: silent.Addr().String(), Password: "x", Timeout: time.Hour}
	var c *Conn
	looptest.On(loop, func() { c = New(cfg, Options{Loop: loop}) })
	testkit.Background(t, c.Run)
	for range 2 {
		conn, err := silent.Accept()
		testkit.Must(t, err)
		defer conn.Close()
	}
}

// A server that accepts and never answers holds up nobody who stops waiting, however long a call may take.
func TestEndOfTheContextEndsTheWait(t *testing.T) {
	greet := func(l *Link, limit time.Duration) error { return l.Do(Command(nil, "PING"), limit) }
	run := func(ctx context.Context, cfg Config, loop Loop) error {
		var c *Conn
		looptest.On(loop, func() { c = New(cfg, Options{Loop: loop, Greet: greet}) })
		return errors.Join(c.Run(ctx), ctx.Err())
	}
	for name, wait := range map[string]func(ctx context.Context, cfg Config) error{
		"login": func(ctx context.Context, cfg Config) error {
			cfg.Password = "x"
			_, err := Dial(ctx, cfg)
			return err
		},
		"call on a link": func(ctx context.Context, cfg Config) error {
			l, err := Dial(ctx, cfg)
			if err != nil {
				return err
			}
			defer l.Close()
			return l.Do(Command(nil, "PING"), cfg.Timeout)
		},
		"greeting": func(ctx context.Context, cfg Config) error { return run(ctx, cfg, nil) },
		"greeting before an event loop": func(ctx context.Context, cfg Config) error {
			return run(ctx, cfg, looptest.Run(t))
		},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.KeepLog(t)
			silent, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
			testkit.Must(t, err)
			defer silent.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			cfg := Config{Network: "unix", Address: silent.Addr().String(), Timeout: time.Hour}
			go func() { ended <- wait(ctx, cfg) }()
			conn, err := silent.Accept()
			testkit.Must(t, err)
			defer conn.Close()
			if _, err := conn.Read(make([]byte, 1)); err != nil { // it is asked now, and does not answer
				t.Fatal(err)
			}
			cancel()
			select {
			case err := <-ended:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("error %v, want %v", err, context.Canceled)
				}
			case <-time.After(testkit.Patience):
				t.Error("it waits on")
			}
		})
	}
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
