// Package roomtest is what the tests of all rooms need: a Redis of each engine, a clock, and what runs until
// the test ends.
package roomtest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/testkit/stand"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// Redis is the redis-server that the tests of the process share, flushed.
func Redis(tb testing.TB) pipeline.Config {
	tb.Helper()
	return Of(redistest.Start(tb))
}

// Of is how to reach a redis-server.
func Of(server *redistest.Server) pipeline.Config {
	return pipeline.Config{Network: "unix", Address: server.Socket, Timeout: patience}
}

// Nowhere is a Redis that is away.
func Nowhere() pipeline.Config {
	return pipeline.Config{Network: "unix", Address: "/nowhere", Timeout: patience}
}

// patience bounds what hangs and is no expectation.
const patience = 20 * time.Second

// OnEach runs a test on a real redis-server and on the in-memory engine.
func OnEach(t *testing.T, test func(t *testing.T, redis pipeline.Config)) {
	t.Helper()
	t.Run("redis-server", func(t *testing.T) { test(t, Redis(t)) })
	t.Run("memory", func(t *testing.T) {
		test(t, pipeline.Config{Network: "tcp", Address: redistest.Memory(t), Timeout: patience})
	})
}

// Run runs f until the test, or what is returned, ends it.
func Run(tb testing.TB, f func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := f(ctx); err != nil {
			tb.Error(err)
		}
	})
	stop = func() {
		cancel()
		running.Wait()
	}
	tb.Cleanup(stop)
	return stop
}

// Ask sends a command to Redis.
func Ask[T any](tb testing.TB, c *pipeline.Conn, words ...string) (reply T) {
	tb.Helper()
	stand.Must(tb, c.Do(pipeline.Command(&reply, words...)))
	return reply
}

// Clock is a time that a test sets, in milliseconds.
type Clock struct{ ms atomic.Int64 }

// NewClock makes a clock that stands at a time.
func NewClock(t time.Time) *Clock {
	c := &Clock{}
	c.Set(t)
	return c
}

// Now is the time of the clock.
func (c *Clock) Now() time.Time { return time.UnixMilli(c.ms.Load()) }

// Set puts the clock to a time.
func (c *Clock) Set(t time.Time) { c.ms.Store(t.UnixMilli()) }

// Add puts the clock forward, or back.
func (c *Clock) Add(d time.Duration) { c.ms.Add(d.Milliseconds()) }
