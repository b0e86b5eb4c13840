package presence

import (
	"strconv"
	"time"

	"flashsale/redisx/pipeline"
)

// The room has one key for each user, which beat.lua writes. <tag> is the hash tag of the user's part, see
// pipeline.PartOf:
//
//	presence:<tag>:<user>  string  the last heartbeat, Unix ms; a leading "-": the user is     30 days,
//	                               invisible and was last seen then; "-0": invisible, never    366 while
//	                               seen                                                        invisible
//
// README.md has the bytes.

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
