package pipeline

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"

	"flashsale/internal/serve/eventloop/looptest"
	"flashsale/internal/testkit"
)

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
