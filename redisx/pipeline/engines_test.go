package pipeline

import (
	"testing"
	"time"

	"flashsale/internal/serve/eventloop/looptest"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

var defaults = Config{Timeout: time.Second}

// patient is the timeout of calls that are to be answered: it bounds what hangs. A busy machine stalls for
// seconds.
const patient = 20 * time.Second

func unix(s *redistest.Server) Config {
	return Config{Network: "unix", Address: s.Socket, Timeout: patient}
}

// onEach runs a test on a real redis-server, with each engine, and on the in-memory engine of Redis.
func onEach(t *testing.T, test func(t *testing.T, cfg Config, loop Loop)) {
	onEngines(t, func(t *testing.T, loop Loop) { test(t, unix(redistest.Start(t)), loop) })
	t.Run("memory", func(t *testing.T) {
		test(t, Config{Network: "tcp", Address: redistest.MemoryToo(t), Timeout: patient}, nil)
	})
}

// onEngines runs a test with the engine of goroutines (loop is nil) and with that of an event loop.
func onEngines(t *testing.T, test func(t *testing.T, loop Loop)) {
	t.Run("goroutines", func(t *testing.T) { test(t, nil) })
	t.Run("event loop", func(t *testing.T) { test(t, looptest.Run(t)) })
}

// connect runs a Conn until the test ends and waits until it serves.
func connect(tb testing.TB, cfg Config, opts Options) *Conn {
	tb.Helper()
	testkit.KeepLog(tb)
	var c *Conn
	looptest.On(opts.Loop, func() { c = New(cfg, opts) })
	testkit.Background(tb, c.Run)
	testkit.Until(tb, "connected", c.up.Load)
	return c
}

// send is Conn.Send on the thread that may call it.
func send(c *Conn, x *Call, completion Completion) (sent bool) {
	looptest.On(c.opts.Loop, func() { sent = c.Send(x, completion) })
	return sent
}

// doInteger is Conn.DoInteger with either engine.
func doInteger(c *Conn, x *Call) (int64, error) {
	defer x.Free()
	if !send(c, x, wakes{}) {
		return 0, ErrUnavailable
	}
	<-x.done
	return x.Result()
}

// do is Conn.Do with either engine.
func do(c *Conn, x *Call) error {
	_, err := doInteger(c, x)
	return err
}
