package threads

import (
	"strconv"

	"flashsale/redisx/pipeline"
)

// Every key of the room. <tag> is the hash tag of a part (pipeline.PartTag): of a thread's part in the keys of
// a thread, of a user's part in the keys of a user.
//
//	thread:<tag>:<id>             hash        kind, created, updated (Unix ms), last,   until the group ends
//	                                          first (oldest message in Redis), members,
//	                                          owners, large, history, shown (ids of
//	                                          participants), starter; of a room also
//	                                          pinned and the message that is pinned
//	thread:<tag>:<id>:members     hash        user -> "role:joined:read:muted:nickname"  as the thread
//	thread:<tag>:<id>:messages    stream      <n>-0: h "user:ms", c content; a missing   as the thread; each
//	                                          n was erased                              message -chat-age
//	thread:<tag>:<id>:sent:<user> sorted set  client id -> message, the newest 100      24 h
//	thread:<tag>:<id>:muted       hash        of a room: user -> until, Unix ms         31 days
//	thread:<tag>:<id>:pace:<user> string      of a room: the user has just written      -room-pace
//	thread:<tag>:log              stream      <n>-0: entries, see log.lua               a minute, logMax
//	thread:<tag>:state            hash        log (newest n), done (the keeper's n)     for ever
//	thread:<tag>:trim             sorted set  thread -> when its oldest message has to  as there are threads
//	                                          go, Unix ms
//	thread:<tag>:lease            string      the keeper that works on the part         10 s
//	threads:<tag>:<user>          sorted set  thread -> when it changed, Unix us;       for ever
//	                                          the newest 1,000
//	threads:<tag>:<user>:large    sorted set  large group -> when the user joined, us;  for ever
//	                                          the newest 100
//	threads:<tag>:<user>:made     sorted set  thread that the user started -> when, us  for ever
//	threads:<tag>:done            hash        part -> position of its log up to which   for ever
//	                                          lists of this part follow; clock, us
const (
	threadPrefix = "thread:"
	userPrefix   = "threads:"
	roomPrefix   = "sale-"
)

// threadKey is the hash of a thread; its other keys begin with it.
func threadKey(id string) string { return threadPrefix + pipeline.PartTag(pipeline.PartOf(id)) + ":" + id }

// partKey is a key of a part.
func partKey(part int, name string) string { return threadPrefix + pipeline.PartTag(part) + ":" + name }

// userPart is the part of a user.
func userPart(user uint32) int { return pipeline.PartOf(strconv.FormatUint(uint64(user), 10)) }

// userKey is the list of a user's threads; the user's other keys begin with it.
func userKey(user uint32) string {
	return userPrefix + pipeline.PartTag(userPart(user)) + ":" + strconv.FormatUint(uint64(user), 10)
}
