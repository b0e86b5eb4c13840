package pipeline

import "time"

// Config says which Redis to use and how.
type Config struct {
	Network  string        // "tcp" or "unix"
	Address  string        // host:port or path of the socket
	Username string        // "" for none
	Password string        // "" for none
	Timeout  time.Duration // every call is answered within it, one way or the other
}

// Options are what the owner of a Conn adds to its Config. The zero value is fine for commands.
type Options struct {
	Scripts []*Script // that calls run by themselves
	Shared  []*Shared // that calls run together; they belong to this Conn only

	// Greet, unless nil, runs on each new connection before any call, for limit at most. After an error
	// the connection is closed and dialled again. It also runs when Redis has lost its scripts.
	Greet func(l *Link, limit time.Duration) error
	// Reason, unless nil, names an error of Greet in the log; "" leaves it to the Conn's own words.
	Reason func(err error) string
	// Outage is what the owner cannot do while Redis does not serve, for the log: "orders get 503".
	Outage string

	FieldsMax int // fields of the largest hash that one reply may hold; it raises the limits on a reply
}
