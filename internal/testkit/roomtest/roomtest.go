// Package roomtest is for the tests of all rooms: the configuration of a test's Redis, commands to Redis,
// and a clock.
package roomtest

import (
	"sync/atomic"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx/pipeline"
	"flashsale/redisx/redistest"
)

// Redis flushes the redis-server that the tests of the process share, and returns its configuration.
func Redis(tb testing.TB) pipeline.Config {
	tb.Helper()
	return Of(redistest.Start(tb))
}

// Of is the configuration of a redis-server.
func Of(server *redistest.Server) pipeline.Config {
	return pipeline.Config{Network: "unix", Address: server.Socket, Timeout: redistest.Timeout}
}

// Nowhere is a Redis that is away.
func Nowhere() pipeline.Config {
	return pipeline.Config{Network: "unix", Address: "/nowhere", Timeout: redistest.Timeout}
}

// OnEach runs a test on a real redis-server and on the in-memory engine.
func OnEach(t *testing.T, test func(t *testing.T, redis pipeline.Config)) {
	t.Helper()
	redistest.OnEach(t, func(t *testing.T, network, address string) {
		test(t, pipeline.Config{Network: network, Address: address, Timeout: redistest.Timeout})
	})
}

// Ask sends a command to Redis.
func Ask[T any](tb testing.TB, c *pipeline.Conn, words ...string) (reply T) {
	tb.Helper()
	testkit.Must(tb, c.Do(pipeline.Command(&reply, words...)))
	return reply
}

// Clock is a time that a test sets, in milliseconds.
type Clock struct{ ms atomic.Int64 }

// NewClock makes a clock with this time.
func NewClock(t time.Time) *Clock {
	c := &Clock{}
	c.Set(t)
	return c
}

// Now is the time of the clock.
func (c *Clock) Now() time.Time { return time.UnixMilli(c.ms.Load()) }

// Set sets the clock.
func (c *Clock) Set(t time.Time) { c.ms.Store(t.UnixMilli()) }

// Add moves the clock forward, or back.
func (c *Clock) Add(d time.Duration) { c.ms.Add(d.Milliseconds()) }
