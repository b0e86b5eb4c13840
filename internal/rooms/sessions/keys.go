package sessions

// Every key of the room. Both have one hash tag, so that on Redis Cluster they lie on one node:
//
//	session:{session}:changed  sorted set  people by when they last ended         token TTL  end
//	                                       something, Unix ms
//	session:{session}:notes    hash        what each of them has ended, by        token TTL  end
//	                                       "u<id>" of a user, "o<number>" of an
//	                                       operator; end.lua has the form
//
// Each has at most peopleMax people, and a note at most sessionsMax sessions. The README has the bytes.
const (
	// HashTag is in all keys of the room.
	HashTag = "{session}"

	changedKey = "session:" + HashTag + ":changed"
	notesKey   = "session:" + HashTag + ":notes"
)
