package pipeline

import (
	"time"

	"flashsale/internal/observe/figures"
)

// Config has the address of a Redis and the limits of its use. A Cluster and a Sentinel have several
// addresses, each host:port, with commas between them: some nodes of the cluster, or the sentinels.
type Config struct {
	Network  string        // "tcp" or "unix"
	Address  string        // host:port or path of the socket
	Cluster  bool          // the connection goes to the master of the Slot, wherever that moves
	Slot     int           // see Slot
	Sentinel string        // the name of the master that the sentinels find; "" for none
	Username string        // "" for none
	Password string        // "" for none
	Timeout  time.Duration // how long a call waits for Redis, from its queueing on
	Ack      Ack           // what the answers of a Conn with a Fence have to survive
}

// Options are the owner's additions to the Config of a Conn. The zero value is fine for commands.
type Options struct {
	Scripts []*Script // scripts that run for a single call
	Shared  []*Shared // scripts that run for many calls; they belong to this Conn only

	// Loop, unless nil, runs the Conn on an event loop; a goroutine only dials. Then only the loop's thread may
	// send calls, and Do must not be used: it would wait for itself. New must be called before the loop runs,
	// or on its thread; the loop must end after Conn.Run.
	Loop Loop

	// Greet, unless nil, runs on each new connection before any call, for limit at most. After an error the
	// connection is closed and dialled again.
	Greet func(l *Link, limit time.Duration) error
	// Outage, unless nil, is for owners that log the effect or the reasons of an outage, or that have several
	// connections.
	Outage *Outage

	Figures *figures.Redis // where calls are counted; nil: the counts are not published
	Waiting *figures.Gauge // calls that wait to be sent; nil as with Figures

	// Fence is a key for the Conn's own use, in its slot. With it answers count only when the Config's Ack is
	// fulfilled: see Ack.
	Fence string

	FieldsMax int // fields of the largest hash that one reply may hold; it raises the limits on a reply
}
