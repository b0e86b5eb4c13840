package pipeline

import (
	_ "embed" // the script
	"strconv"
	"time"
)

//go:embed lease.lua
var leaseLua string

// LeaseScript must be among the Scripts of a Conn that takes leases.
var LeaseScript = NewScript(leaseLua)

// Lease takes or keeps a lease, by which one server at a time does a work, and reports whether this server
// has it. The key expires after life; server is another text for each one. Errors: ErrUnavailable.
func (c *Conn) Lease(key, server string, life time.Duration) (has bool, err error) {
	var holds int64
	err = c.Do(LeaseScript.Call(&holds, []string{key}, server, strconv.FormatInt(life.Milliseconds(), 10)))
	return holds == 1, err
}
