package redisx

import (
	"context"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// A start waits for a Redis that reads its data, and the log tells why.
func TestAwaitLoaded(t *testing.T) {
	log := testkit.CaptureLog(t)
	server := redistest.New(t, "--enable-debug-command", "yes")
	cfg := unix(server)
	if err := AwaitLoaded(t.Context(), cfg); err != nil || log.String() != "" {
		t.Errorf("before: %v, log %q", err, log)
	}
	finish := server.Load(t)
	lines := 0
	begin := func() (stop context.CancelFunc, result chan error) {
		ctx, stop := context.WithCancel(t.Context())
		result = make(chan error, 1)
		go func() { result <- AwaitLoaded(ctx, cfg) }()
		lines++
		testkit.Until(t, "a line in the log", func() bool { return log.Count("\n") == lines })
		return stop, result
	}
	stop, stopped := begin()
	stop()
	if err := <-stopped; err == nil {
		t.Error("a stop does not end the wait")
	}
	stop, result := begin()
	defer stop()
	select {
	case err := <-result:
		t.Fatalf("while Redis reads its data: %v", err)
	default:
	}
	finish()
	testkit.Wants(t, "in the end", <-result, nil)
	const line = "Redis still reads its data from disk; the start goes on when it is ready"
	if log.Count(line) != log.Count("\n") {
		t.Errorf("log %s", log)
	}
}
