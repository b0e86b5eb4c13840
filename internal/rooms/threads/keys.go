package threads

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"strings"

	"flashsale/redisx/pipeline"
)

// Every key of the room. <tag> is the hash tag of a part (pipeline.PartTag): of a thread's part in the keys
// of a thread, of a user's part in the keys of a user. README.md has the bytes.
//
//	thread:<tag>:<id>             hash        kind, created, updated (Unix ms), last,   until the group ends
//	                                          first (oldest message in Redis), members,
//	                                          owners, large, history, shown (ids of
//	                                          participants), starter, erased (how many
//	                                          were), kept (oldest message that is not
//	                                          gone; none: 1); of a room also pinned,
//	                                          pinned_head, pinned_content
//	thread:<tag>:<id>:members     hash        user -> see member.lua                    as the thread
//	thread:<tag>:<id>:messages    stream      <n>-0: h "user:ms", c content; a missing  as the thread; each
//	                                          n was erased                              message -chat-age
//	thread:<tag>:<id>:sent:<user> sorted set  client id -> message, the newest 100      24 h
//	thread:<tag>:<id>:muted       hash        of a room: user -> until, Unix ms         muteMax
//	thread:<tag>:<id>:pace:<user> string      of a room: the user has just written      -room-pace
//	thread:<tag>:log              stream      see log.lua                               a minute, logMax
//	thread:<tag>:state            hash        log (newest n), done (the keeper has      for ever
//	                                          followed up to this n, or somewhat further),
//	                                          cut, marked (see hold.lua)
//	thread:<tag>:trim             sorted set  thread -> when its oldest message has to  as the threads
//	                                          go, Unix ms; "<thread> <created>" -> 0: it
//	                                          has ended, the archive must forget it
//	thread:<tag>:lease            string      the keeper that works on the part         leaseLength
//	threads:<tag>:<user>          sorted set  thread -> when it changed, Unix us;       for ever
//	                                          the newest listMax
//	threads:<tag>:<user>:large    sorted set  large group -> when it came, us; the      for ever
//	                                          newest largeMax
//	threads:<tag>:<user>:made     sorted set  thread that the user started -> when, us; for ever
//	                                          at most startsMax
//	threads:<tag>:done            hash        part -> position of its log up to which   for ever
//	                                          the lists of this part follow; clock, us
const (
	threadPrefix = "thread:"
	userPrefix   = "threads:"
)

const (
	listMax   = 1000  // threads of a user's list
	largeMax  = 100   // large groups of a user
	startsMax = 1000  // threads that a user may have started
	hourlyMax = 100   // threads that a user may start in an hour
	logMax    = 50000 // entries of a log, about; log.lua has the number too
	waitMax   = 40000 // entries that may wait for the keeper; log.lua has the number too
)

// The forms of thread ids.
const (
	pairPrefix  = "u"
	groupPrefix = "g"
	roomPrefix  = "sale-"

	groupChars = 16
	roomMax    = 64 // characters behind roomPrefix
)

var groupText = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// RoomID is the thread of a sale's room.
func RoomID(sale string) string { return roomPrefix + sale }

// pairID is the thread of two users, however often and wherever they start it.
func pairID(one, other uint32) string {
	return pairPrefix + idText(min(one, other)) + "-" + idText(max(one, other))
}

// groupID is a new group, or the one that a user has started with this key.
func groupID(by uint32, key string) string {
	var random [groupChars * 5 / 8]byte
	if key == "" {
		rand.Read(random[:])
	} else {
		sum := sha256.Sum256([]byte(idText(by) + " " + key))
		copy(random[:], sum[:])
	}
	return groupPrefix + groupText.EncodeToString(random[:])
}

// kindOf is the kind of a thread by its id, "" if no thread has such an id.
func kindOf(id string) Kind {
	switch {
	case strings.HasPrefix(id, roomPrefix):
		if rest := id[len(roomPrefix):]; rest != "" && len(rest) <= roomMax && isPlain(rest) {
			return Room
		}
	case strings.HasPrefix(id, pairPrefix):
		if one, other, ok := pairOf(id); ok && pairID(one, other) == id {
			return Pair
		}
	case strings.HasPrefix(id, groupPrefix):
		if _, err := groupText.DecodeString(id[1:]); err == nil && len(id) == 1+groupChars {
			return Group
		}
	}
	return ""
}

// pairOf returns the two users of a pair.
func pairOf(id string) (one, other uint32, ok bool) {
	first, second, ok := strings.Cut(strings.TrimPrefix(id, pairPrefix), "-")
	one, errOne := userOf(first)
	other, errOther := userOf(second)
	return one, other, ok && errOne == nil && errOther == nil && one < other
}

func isPlain(text string) bool {
	return strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

func idText(user uint32) string { return strconv.FormatUint(uint64(user), 10) }

func userOf(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), err
}

// threadKey is the hash of a thread; its other keys begin with it.
func threadKey(id string) string {
	return threadPrefix + pipeline.PartTag(pipeline.PartOf(id)) + ":" + id
}

// partKey is a key of a part of the threads.
func partKey(part int, name string) string { return threadPrefix + pipeline.PartTag(part) + ":" + name }

func userPart(user uint32) int { return pipeline.PartOf(idText(user)) }

// userKey is the list of a user's threads; the user's other keys begin with it.
func userKey(user uint32) string {
	return userPrefix + pipeline.PartTag(userPart(user)) + ":" + idText(user)
}

// followedKey says up to where the lists of a part follow the logs.
func followedKey(part int) string { return userPrefix + pipeline.PartTag(part) + ":done" }

// of returns the keys of a thread and of its part with these names, in this order.
func keysOf(id string, names ...string) (keys []string) {
	part, thread := pipeline.PartOf(id), threadKey(id)
	for _, name := range names {
		switch name {
		case "":
			keys = append(keys, thread)
		case "log", "state", "trim":
			keys = append(keys, partKey(part, name))
		default:
			keys = append(keys, thread+":"+name)
		}
	}
	return keys
}
