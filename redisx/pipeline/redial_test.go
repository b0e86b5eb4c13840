package pipeline

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"flashsale/internal/serve/eventloop/looptest"
	"flashsale/internal/testkit"
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
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	for range 2 {
		conn, err := silent.Accept()
		testkit.Must(t, err)
		defer conn.Close()
	}
	cancel()
	running.Wait()
}
