package repeats

import (
	"strconv"
)

// Every key of the room. All have one hash tag, so that on Redis Cluster they lie on one node:
//
//	repeats:{r}:t:<text>         sorted set  running total of the text by      window + 1 min  record, sweep
//	                                         second
//	repeats:{r}:sweeps           sorted set  texts with many entries by when   window + 1 min  record, sweep
//	                                         to sweep them, Unix s
//	repeats:{r}:e:<event>        string      "1": the event was received       24 h            receive
//	repeats:{r}:records          hash        number of entries and marks of    as they         record
//	                                         events by when they are over,
//	                                         Unix s; total; first: the first
//	                                         of these times
//	repeats:{r}:due:<group>      sorted set  events by when their reply is     2 days          receive, take,
//	                                         due, Unix ms; a lease ahead                       settle
//	                                         while sent
//	repeats:{r}:replies:<group>  hash        "peer:reply:attempts" by event    2 days          as due
//	repeats:{r}:pace:<group>     string      when the next reply may go,       1 s             take
//	                                         Unix ms
//	repeats:{r}:refused:<group>  string      "1": VK refuses the token of the  10 min          receive
//	                                         group
//
// The last column names the Lua files. <text> and <event> are keyed hashes of 128 bits (repeats.go), <group>
// is the id of a group of VK, 0 for that of the flags. Entries and marks of events take at most
// Config.BytesMax, the replies of a group recordBytes for each of Config.RepliesMax.
const (
	// HashTag is in all keys of the room.
	HashTag = "{r}"

	tag = "repeats:" + HashTag + ":"

	textPrefix  = tag + "t:"
	eventPrefix = tag + "e:"
	sweepsKey   = tag + "sweeps"
	recordsKey  = tag + "records"
)

// recordBytes is what a record, or a reply that waits, takes at most. A test holds it.
const recordBytes = 192

// queueKeys are the keys of a group's replies.
type queueKeys struct{ due, replies, pace, refused string }

func queueOf(group int64) queueKeys {
	id := strconv.FormatInt(group, 10)
	return queueKeys{tag + "due:" + id, tag + "replies:" + id, tag + "pace:" + id, tag + "refused:" + id}
}
