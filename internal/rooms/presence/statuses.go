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

// reading is the statuses that one heartbeat reads for all.
type reading struct {
	read []status
	over chan struct{}
	err  error
}

// look returns the statuses of users, and those of them that the caller must read and then end; nil if there
// are none.
func (s *statuses) look(users []uint32, now time.Time) (found []*status, own *reading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.kept.current(now)
	found = make([]*status, len(users))
	for i, user := range users {
		known := kept[user]
		if known == nil {
			if own == nil {
				own = &reading{read: make([]status, 0, len(users)-i), over: make(chan struct{})}
			}
			own.read = append(own.read, status{Status{User: user}, own})
			known = &own.read[len(own.read)-1]
			kept[user] = known
		}
		found[i] = known
	}
	return found, own
}

// end lets the statuses of a reading be used. After an error the statuses that are kept are read again.
func (s *statuses) end(r *reading, err error) {
	if err != nil {
		s.mu.Lock()
		s.kept.drop()
		s.mu.Unlock()
	}
	r.err = err
	close(r.over)
}

// await returns when the reading is over.
func (r *reading) await() error {
	<-r.over
	return r.err
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
	s.Online = value > 0 && time.UnixMilli(now).Sub(s.Seen).Abs() < OfflineAfter
}
