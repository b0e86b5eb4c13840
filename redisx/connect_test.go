package redisx

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"flashsale/internal/testkit/logtest"
	"flashsale/internal/testkit/polltest"
	"flashsale/redisx/pipeline"
)

// Who asks a Redis that does not answer may stop waiting.
func TestConnectEndsWithItsContext(t *testing.T) {
	logtest.Keep(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	cfg := Config{Config: pipeline.Config{Network: "tcp", Address: silent.Addr().String(), Timeout: time.Hour}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, _, err := Connect(ctx, cfg, "aaaaaaaa", 1)
		ended <- err
	}()
	conn, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want %v", err, context.Canceled)
		}
	case <-time.After(polltest.Patience):
		t.Error("Connect goes on without its context")
	}
}
