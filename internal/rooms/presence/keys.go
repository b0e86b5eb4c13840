package presence

import (
	"strconv"
	"time"

	"flashsale/redisx/pipeline"
)

// Every key of the room. <tag> is the hash tag of the part of the user or of the room of people, see
// pipeline.PartOf:
//
//	presence:<tag>:<user>       string  the last heartbeat, Unix ms; a leading "-":     30 days  beat
//	                                    the user is invisible and was last seen then;   366 if
//	                                    -0: never                                       invisible
//	presence:<tag>:room:<room>  hash    "clients:Unix s" of a room by process           60 s     room
//
// The last column names the Lua file that writes the key. README.md has their number and their bytes.

const (
	keptFor      = 30 * 24 * time.Hour  // after the last heartbeat: then the user was never seen
	invisibleFor = 366 * 24 * time.Hour // the wish lasts longer than a long journey
)

// userKey returns the key of a user and its part.
func userKey(user uint32) (key string, part int) {
	id := strconv.FormatUint(uint64(user), 10)
	part = pipeline.PartOf(id)
	return "presence:" + pipeline.PartTag(part) + ":" + id, part
}

// roomKey returns the key of a room and its part.
func roomKey(room string) (key string, part int) {
	part = pipeline.PartOf(room)
	return "presence:" + pipeline.PartTag(part) + ":room:" + room, part
}
