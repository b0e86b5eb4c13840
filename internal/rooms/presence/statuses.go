package presence

import (
	"sync"
	"time"
)

const (
	statusesFor = 5 * time.Second // how long a status is not read again: half of the time between heartbeats
	statusesMax = 128 << 10       // users whose status is kept
)

// statuses are the statuses that this process has read lately, or is reading. Two heartbeats at the same
// moment do not read the same user: the later one waits for the reading of the earlier one.
type statuses struct {
	mu   sync.Mutex
	kept generation[*status]
}

// status is a Status that may be used once its reading is over.
type status struct {
	Status
	reading *reading
}

// look returns the statuses of users. Those that are not kept are added to the readings, one for each
// connection, which the caller must send.
func (s *statuses) look(users []uint32, readings []reading, now time.Time) []*status {
	found := make([]*status, len(users))
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.kept.current(now)
	for i, user := range users {
		known := kept[user]
		if known == nil || known.reading.failed() {
			key, part := userKey(user)
			known = readings[part%len(readings)].add(user, key)
			kept[user] = known
		}
		found[i] = known
	}
	return found
}

// set sets a status by the value of the user's key and the clock of its Redis, both in Unix ms; 0 without a
// key.
func (s *status) set(value, now int64) {
	seen := max(value, -value)
	if seen == 0 {
		return
	}
	s.Seen = time.UnixMilli(seen)
	// A clock of Redis that was wrong may have left a time far ahead.
	s.Online = value > 0 && time.UnixMilli(now).Sub(s.Seen).Abs() < offlineAfter
}
