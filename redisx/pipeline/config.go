package pipeline

import (
	"time"

	"flashsale/internal/observe/figures"
)

// Config says which Redis to use and how.
type Config struct {
	Network  string        // "tcp" or "unix"
	Address  string        // host:port or path of the socket
	Username string        // "" for none
	Password string        // "" for none
	Timeout  time.Duration // how long a call waits for Redis, from when it is queued
}

// Options are what the owner of a Conn adds to its Config. The zero value is fine for commands.
type Options struct {
	Scripts []*Script // that calls run by themselves
	Shared  []*Shared // that calls run together; they belong to this Conn only

	// Loop, unless nil, runs the Conn on an event loop, without goroutines of its own but to dial. Then
	// only the loop's thread may send calls, and Do must not be used: it would wait for itself. New comes
	// before the loop runs, or is called on its thread; the loop ends after Conn.Run.
	Loop Loop

	// Greet, unless nil, runs on each new connection before any call, for limit at most. After an error
	// the connection is closed and dialled again.
	Greet func(l *Link, limit time.Duration) error
	// Outage, unless nil, is for an owner that names the effect or the reasons of an outage in the log, or
	// has several connections.
	Outage *Outage

	Figures *figures.Redis // where calls are counted; nil counts where nobody reads
	Waiting *figures.Gauge // of calls that wait to be sent; the same

	FieldsMax int // fields of the largest hash that one reply may hold; it raises the limits on a reply
}
